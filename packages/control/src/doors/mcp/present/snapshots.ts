import type { OperationOutput } from "@holdfast/contract";
import { computerLine } from "./computers.ts";
import { bytes, clip, moreAt } from "./words.ts";

type Snapshot = OperationOutput<"snapshot.create">;
type Offer = OperationOutput<"offer.reject">;
type Hold = OperationOutput<"hold.create">;
type Difference = OperationOutput<"snapshot.diff">["differences"][number];

export const snapshotLine = (snapshot: Snapshot): string => {
  const note = snapshot.note === "" ? "" : `: ${clip(snapshot.note, 200)}`;
  return `${snapshot.name} (${snapshot.id}) of ${snapshot.computer}, ${snapshot.kind.replaceAll("_", " ")}, taken at ${snapshot.taken_at}${note}`;
};

export const snapshotList = (output: OperationOutput<"snapshot.list">): string =>
  output.snapshots.length === 0
    ? "No snapshots. Take one with snapshot_create."
    : [...output.snapshots.map(snapshotLine), ...moreAt("snapshot_list", output.next_cursor)].join("\n");

export const restoredText = ({ computer, before }: OperationOutput<"snapshot.restore">): string =>
  `${computerLine(computer)}\nWhat was there before is the snapshot ${before}.`;

export const differenceText = (output: OperationOutput<"snapshot.diff">): string =>
  [
    `${output.added} added, ${output.changed} changed, ${output.removed} removed${output.truncated ? ", and more: name a path" : ""}.`,
    ...output.differences.map(differenceLine),
    ...moreAt("snapshot_diff", output.next_cursor),
  ].join("\n");

export const childText = ({ computer, assistant, secret }: OperationOutput<"child.create">): string =>
  `${computerLine(computer)}\nThe helper is ${assistant}. Its key, shown this once: ${secret}`;

export const offerLine = (offer: Offer): string => {
  const note = offer.note === "" ? "" : `: ${clip(offer.note, 300)}`;
  return `${offer.id} from ${offer.child} is ${offer.state}, ${offer.entries} files (${bytes(offer.bytes)}): ${clip(offer.paths.join(" "), 300)}${note}`;
};

export const offerList = (output: OperationOutput<"offer.list">): string =>
  output.offers.length === 0
    ? "No offers."
    : [...output.offers.map(offerLine), ...moreAt("offer_list", output.next_cursor)].join("\n");

export const offerDiff = (output: OperationOutput<"offer.diff">): string =>
  [
    offerLine(output.offer),
    ...output.differences.map(differenceLine),
    ...(output.text === "" ? [] : [output.text]),
    ...(output.truncated ? ["… the rest is cut."] : []),
    ...moreAt("offer_diff", output.next_cursor),
    ...(output.offer.state === "open"
      ? [`To take exactly this: offer_accept with digest ${output.offer.digest}.`]
      : []),
  ].join("\n");

export const acceptedText = ({ offer, commit }: OperationOutput<"offer.accept">): string =>
  commit === null ? offerLine(offer) : `${offerLine(offer)}\nIt is commit ${commit}. project_deploy runs it.`;

export const holdLine = (hold: Hold): string =>
  `${hold.id} keeps ${hold.computer} awake until ${hold.expires_at}: ${clip(hold.reason, 200)}`;

export const holdList = (output: OperationOutput<"hold.list">): string =>
  output.holds.length === 0 ? "Nothing keeps it awake." : output.holds.map(holdLine).join("\n");

const differenceLine = ({ path, change, size_before: before, size_after: after }: Difference): string => {
  const size =
    before !== null && after !== null && before !== after
      ? `, ${bytes(before)} -> ${bytes(after)}`
      : (after ?? before) === null
        ? ""
        : `, ${bytes(after ?? before ?? 0)}`;
  return `${change} ${path}${size}`;
};
