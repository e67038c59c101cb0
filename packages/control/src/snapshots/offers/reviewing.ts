import { limits, type OperationOutput, type OperationParams } from "@holdfast/contract";
import type { OperationContext } from "../../domain/handler.ts";
import type { ManifestEntry, TreeDifference, Trees, TreeView } from "../../domain/trees.ts";
import { decodeCursor, encodeCursor } from "../../lib/cursor.ts";
import { unifiedDiff } from "../../lib/unified-diff.ts";
import { getManifest, type OfferRow } from "../../store/offers.ts";
import type { Store } from "../../store/transaction.ts";
import { differenceView, pathPattern } from "../comparing.ts";
import type { Snapshots } from "../snapshots.ts";
import type { Offers } from "./offers.ts";
import { noOffer, offerView, refuseDecided } from "./view.ts";

export interface ReviewingParts {
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly offers: Offers;
  readonly trees: Pick<Trees, "look">;
}

interface Page {
  readonly differences: readonly TreeDifference[];
  /** Path of the offer, and where in it the next page begins. */
  readonly next: { readonly index: number; readonly after: string } | null;
}

/** Larger files are listed, and not compared line by line. */
const textBytes = 64 * 1024;
/** Pages that are asked for until one is full: much of a directory may be the same, or not offered. */
const mostLooks = 50;

/** Shows what accepting would change: the offered tree and the parent's of now, side by side in one throwaway cell. */
export class Reviewing {
  readonly #parts: ReviewingParts;

  constructor(parts: ReviewingParts) {
    this.#parts = parts;
  }

  async diff(
    context: OperationContext,
    params: OperationParams<"offer.diff">,
  ): Promise<{ readonly target: string; readonly output: OperationOutput<"offer.diff"> }> {
    const { store, snapshots, offers, trees } = this.#parts;
    const { principal, signal } = context;
    const row = refuseDecided(await offers.find(store.db, principal, params.offer));
    // What is on the parent is nothing to who has the child alone.
    const parent = await offers.parentOf(store.db, principal, row);
    if (!parent) throw noOffer(row.id);
    const manifest = new Map((await getManifest(store.db, row.id)).map((entry) => [entry.path, entry]));
    const begin = positionOf(params.cursor);
    return snapshots.passing(parent, context, signal, (now) =>
      trees.look(
        { a: { snapshotId: now }, b: { snapshotId: row.snapshot_id } },
        async (view) => {
          const page = await pageOf(view, row, manifest, begin, params.limit);
          const { text, isCut } = await textOf(view, page.differences);
          return {
            target: row.id,
            output: {
              offer: offerView(row),
              differences: page.differences.map((one) => ({
                ...differenceView(one),
                ...listedView(manifest.get(one.path)),
              })),
              text,
              truncated: isCut,
              next_cursor: page.next === null ? null : encodeCursor(`${page.next.index}:${page.next.after}`),
            },
          };
        },
        signal,
      ),
    );
  }
}

/** What of it is accepted beside its path, and shows nowhere else. */
const listedView = (
  entry: ManifestEntry | undefined,
): Pick<OperationOutput<"offer.diff">["differences"][number], "digest" | "mode" | "target"> => ({
  digest: entry?.digest ?? null,
  mode: entry === undefined || entry.kind === "link" ? null : entry.mode.toString(8).padStart(4, "0"),
  target: entry?.target ?? null,
});

const positionOf = (cursor: string | undefined): { readonly index: number; readonly after?: string } => {
  const position = decodeCursor(cursor, new RegExp(`^\\d{1,3}:${pathPattern.source.slice(1)}`, "s"));
  if (position === undefined) return { index: 0 };
  const colon = position.indexOf(":");
  return { index: Number(position.slice(0, colon)), after: position.slice(colon + 1) };
};

/** Only what is offered counts: an acceptance touches nothing else. */
const pageOf = async (
  view: TreeView,
  row: OfferRow,
  manifest: ReadonlyMap<string, ManifestEntry>,
  begin: { readonly index: number; readonly after?: string },
  limit: number,
): Promise<Page> => {
  const differences: TreeDifference[] = [];
  let { index, after }: { index: number; after?: string | undefined } = begin;
  for (let looks = 0; ; looks += 1) {
    const path = row.paths[index];
    if (path === undefined) return { differences, next: null };
    if (looks === mostLooks || differences.length === limit)
      // The begin of a path that was not looked at yet: what is before everything in it.
      return { differences, next: { index, after: after ?? startOf } };
    const found = await view.diff({
      path,
      after: after === startOf ? undefined : after,
      limit: limit - differences.length,
    });
    differences.push(
      ...found.differences.filter((one) => one.change !== "removed" && manifest.has(one.path)),
    );
    if (found.next === null) {
      index += 1;
      after = undefined;
    } else after = found.next;
  }
};

const startOf = "/";

const textOf = async (
  view: TreeView,
  differences: readonly TreeDifference[],
): Promise<{ readonly text: string; readonly isCut: boolean }> => {
  let text = "";
  for (const one of differences) {
    if (one.kind !== "file" || (one.sizeAfter ?? 0) > textBytes || (one.sizeBefore ?? 0) > textBytes)
      continue;
    const after = await view.read("b", one.path, textBytes);
    const before = one.change === "added" ? undefined : await view.read("a", one.path, textBytes);
    const [old, fresh] = [before, after].map((bytes) => bytes && readable(bytes));
    if (fresh === undefined || (before !== undefined && old === undefined)) continue;
    const diff = unifiedDiff(one.path, old, fresh);
    if (text.length + diff.length > limits.replyTextBytes)
      return { text: `${text}${diff}`.slice(0, limits.replyTextBytes).toWellFormed(), isCut: true };
    text += diff;
  }
  return { text, isCut: false };
};

/** Undefined for what is no text. */
const readable = (bytes: Buffer): string | undefined => {
  if (bytes.includes(0)) return undefined;
  const text = bytes.toString("utf8");
  return text.includes("\ufffd") ? undefined : text;
};
