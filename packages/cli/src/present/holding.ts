import type { OperationName, OperationOutput } from "@holdfast/contract";
import { formatAge, formatBytes, formatDuration } from "../lib/units.ts";
import { age, type List, type Row, show, size, span, spare, text } from "./columns.ts";
import { inShell } from "../terminal/in-shell.ts";
import { card } from "./table.ts";

type Schedule = OperationOutput<"schedule.get">;
type Run = OperationOutput<"run.get">;
type Snapshot = OperationOutput<"snapshot.get">;
type Offer = OperationOutput<"offer.reject">;

interface Sheet {
  readonly now: number;
  readonly width: number | undefined;
}

/** Lists of what holds work while nobody looks. */
export const holdingLists: { readonly [N in OperationName]?: List } = {
  "hold.list": {
    rows: "holds",
    columns: [
      text("id"),
      age("expires_at", "ENDS"),
      spare(age("taken_at", "TAKEN")),
      spare(text("taken_by")),
      spare(text("process")),
      text("reason"),
    ],
    empty: "Nothing keeps it awake.",
  },
  "schedule.list": {
    rows: "schedules",
    columns: [
      text("name"),
      text("computer"),
      spare(text("project")),
      text("state"),
      { head: "WHEN", cell: (row) => timingOf(row as unknown as Schedule) },
      age("next_slot", "NEXT"),
      { head: "LAST RUN", cell: (row, now) => lastRunOf(row["last_run"] as Run | null, now) },
      spare(text("id")),
      { head: "COMMAND", cell: (row) => commandOf(row as unknown as Schedule) },
    ],
    empty:
      "No schedules. Make one: holdfast schedules create <name> --computer <computer> --cron '0 3 * * *' -- <command>",
  },
  "schedule.preview": {
    rows: "slots",
    columns: [text("at", "UTC"), text("local", "LOCAL TIME"), age("at", "WHEN")],
    empty: "It has no further slot.",
  },
  "run.list": {
    rows: "runs",
    columns: [
      text("id"),
      text("schedule"),
      text("cause"),
      { head: "STATE", cell: (row) => show(row["state"]).replaceAll("_", " ") },
      { head: "EXIT", cell: (row) => exitOf(row as unknown as Run) },
      { head: "WHEN", cell: (row, now) => formatAge(show(row["started_at"] ?? row["created_at"]), now) },
      span("duration_ms", "TOOK"),
      spare(text("slot")),
      spare(text("woke")),
      text("reason"),
    ],
    empty: "No runs yet.",
  },
  "snapshot.list": {
    rows: "snapshots",
    columns: [
      text("name"),
      { head: "KIND", cell: (row) => show(row["kind"]).replaceAll("_", " ") },
      age("taken_at", "TAKEN"),
      { head: "WITH", cell: (row) => heldOf(row) },
      spare(text("id")),
      spare(text("taken_by")),
      text("note"),
    ],
    empty: "No snapshots. Take one: holdfast snapshots create <computer>",
  },
  "snapshot.diff": {
    rows: "differences",
    columns: [text("change"), { head: "SIZE", cell: sizesOf }, spare(text("kind")), text("path")],
    empty: "Nothing has changed.",
  },
  "offer.diff": {
    rows: "differences",
    columns: [
      text("change"),
      { head: "SIZE", cell: sizesOf },
      text("mode"),
      spare(text("kind")),
      { head: "PATH", cell: pathOf },
    ],
    empty: "It would change nothing.",
  },
  "offer.list": {
    rows: "offers",
    columns: [
      text("id"),
      text("state"),
      text("child", "FROM"),
      { head: "FILES", cell: (row) => show(row["entries"]) },
      size("bytes", "SIZE"),
      age("made_at", "MADE"),
      spare({ head: "PATHS", cell: (row) => show(row["paths"]) }),
      text("note"),
    ],
    empty: "No offers.",
  },
};

/** Outputs that a person reads in another order, or with other words, than their fields are in. */
export const holdingTexts: { readonly [N in OperationName]?: (output: unknown, sheet: Sheet) => string } = {
  ...forAll(
    [
      "schedule.create",
      "schedule.get",
      "schedule.update",
      "schedule.pause",
      "schedule.resume",
      "schedule.delete",
    ],
    (output, sheet) => scheduleText(output as Schedule, sheet),
  ),
  ...forAll(["run.get", "run.cancel", "schedule.run"], (output, sheet) => runText(output as Run, sheet)),
  ...forAll(["snapshot.create", "snapshot.get", "snapshot.delete"], (output, sheet) =>
    snapshotText(output as Snapshot, sheet),
  ),
  ...forAll(["offer.create", "offer.reject"], (output, sheet) => offerText(output as Offer, sheet)),
  "offer.accept": (output, sheet) => {
    const { offer, commit } = output as OperationOutput<"offer.accept">;
    return offerText(offer, sheet, [["commit", commit ?? "none: outside of projects"]]);
  },
};

/** The offer as its reviewer sees it: `digest` is what to accept it with. */
export const offerText = (
  offer: Offer,
  { now, width }: Sheet,
  more: readonly (readonly [string, string])[] = [],
): string =>
  told(
    [
      ["id", offer.id],
      ["state", offer.state],
      ["from", offer.child],
      ["to", offer.parent],
      ["paths", offer.paths.join(" ")],
      ["files", String(offer.entries)],
      ["size", formatBytes(offer.bytes)],
      ["digest", offer.digest],
      ["made", `${since(offer.made_at, now)}, by ${offer.made_by}`],
      [
        "decided",
        offer.decided_at === null ? "" : `${since(offer.decided_at, now)}, by ${offer.decided_by ?? "-"}`,
      ],
      ["note", offer.note],
      ...more,
    ],
    width,
  );

/** `0 3 * * * (Europe/Berlin)`, `every 15m`, `at 2026-12-24T18:00:00Z`, `by event`. */
export const timingOf = ({ cron, every_ms: every, at, time_zone: zone }: Schedule): string => {
  if (cron !== null) return zone === "UTC" ? cron : `${cron} (${zone})`;
  if (every !== null) return `every ${formatDuration(every)}`;
  return at === null ? "by event" : `at ${at}`;
};

/** `succeeded 3 min ago`. */
export const lastRunOf = (run: Run | null, now: number): string => {
  if (run === null) return "-";
  const how =
    run.state === "failed" && run.exit !== null ? `failed (${exitOf(run)})` : run.state.replaceAll("_", " ");
  return `${how} ${formatAge(run.ended_at ?? run.started_at ?? run.created_at, now)}`;
};

const scheduleText = (schedule: Schedule, { now, width }: Sheet): string =>
  told(
    [
      ["name", schedule.name],
      ["state", schedule.state],
      ["when", timingOf(schedule)],
      ["next slot", schedule.next_slot === null ? "" : since(schedule.next_slot, now)],
      [
        "last run",
        schedule.last_run === null ? "" : `${lastRunOf(schedule.last_run, now)}, ${schedule.last_run.id}`,
      ],
      ["command", commandOf(schedule)],
      ["runs in", `${schedule.cwd}${schedule.place === "fork" ? ", in a clean fork each time" : ""}`],
      ["run address", schedule.run_address ?? ""],
      ["id", schedule.id],
      ["computer", schedule.computer],
      ["project", schedule.project ?? ""],
      ["environment", Object.keys(schedule.environment).length === 0 ? "" : show(schedule.environment)],
      ["timeout", formatDuration(schedule.timeout_ms)],
      ["missed slots", missedOf(schedule)],
      ["overlap", schedule.overlap],
      ["retries", retriesOf(schedule)],
      ["owner", schedule.owner],
      ["created", since(schedule.created_at, now)],
      ["version", schedule.version],
    ],
    width,
  );

const runText = (run: Run, { now, width }: Sheet): string =>
  told(
    [
      ["id", run.id],
      ["state", run.state.replaceAll("_", " ")],
      ["exit", exitOf(run) === "-" ? "" : exitOf(run)],
      ["reason", run.reason ?? ""],
      ["cause", run.cause],
      ["slot", run.slot ?? ""],
      ["schedule", run.schedule],
      ["computer", run.computer],
      ["woke", run.woke === null ? "" : `it was ${run.woke}`],
      ["fork", run.fork ?? ""],
      ["attempt", run.attempt > 1 ? String(run.attempt) : ""],
      ["process", run.process ?? ""],
      ["started", run.started_at === null ? "" : since(run.started_at, now)],
      ["took", run.duration_ms === null ? "" : formatDuration(run.duration_ms)],
      ["output", formatBytes(run.output_bytes)],
    ],
    width,
  );

const snapshotText = (snapshot: Snapshot, { now, width }: Sheet): string =>
  told(
    [
      ["name", snapshot.name],
      ["id", snapshot.id],
      ["computer", snapshot.computer],
      ["kind", snapshot.kind.replaceAll("_", " ")],
      ["taken", `${since(snapshot.taken_at, now)}, by ${snapshot.taken_by}`],
      ["with", heldOf(snapshot)],
      ["sync", formatDuration(snapshot.sync_ms)],
      ["note", snapshot.note],
    ],
    width,
  );

function forAll(
  names: readonly OperationName[],
  say: (output: unknown, sheet: Sheet) => string,
): { readonly [N in OperationName]?: (output: unknown, sheet: Sheet) => string } {
  return Object.fromEntries(names.map((name) => [name, say]));
}

const told = (entries: readonly (readonly [string, string])[], width: number | undefined): string =>
  card(
    entries.filter(([, value]) => value !== ""),
    width,
  );

const since = (time: string, now: number): string => `${time} (${formatAge(time, now)})`;

/** As a shell would take it. */
const commandOf = ({ command, argv }: Schedule): string => command ?? (argv ?? []).map(inShell).join(" ");

const missedOf = ({ missed, missed_most: most }: Schedule): string =>
  missed === "run_each" ? `run each, the latest ${most}` : missed.replaceAll("_", " ");

const retriesOf = ({ retries, retry_backoff_ms: backoff, retries_per_day: most }: Schedule): string =>
  retries === 0 ? "" : `${retries}, the first after ${formatDuration(backoff)}; at most ${most} a day`;

/** The exit code, the signal's name, or `timed out`; a dash while there is none. */
const exitOf = ({ exit, timed_out: timedOut }: Pick<Run, "exit" | "timed_out">): string => {
  if (timedOut) return "timed out";
  if (exit === null) return "-";
  if (exit.kind === "exited") return String(exit.code);
  return exit.kind === "signaled" ? exit.name : "lost";
};

/** `2 services, 1 project`: what is written down with a snapshot. */
const heldOf = (row: Row): string => {
  const counts = (["service", "project", "schedule"] as const).flatMap((word) => {
    const count = Number(row[`${word}s`]);
    return count > 0 ? [`${count} ${word}${count === 1 ? "" : "s"}`] : [];
  });
  return counts.join(", ") || "files only";
};

function pathOf(row: Row): string {
  const target = row["target"];
  return typeof target === "string" ? `${show(row["path"])} -> ${target}` : show(row["path"]);
}

function sizesOf(row: Row): string {
  const [before, after] = [row["size_before"], row["size_after"]].map((bytes) =>
    typeof bytes === "number" ? formatBytes(bytes) : undefined,
  );
  return before !== undefined && after !== undefined && before !== after
    ? `${before} -> ${after}`
    : (after ?? before ?? "-");
}
