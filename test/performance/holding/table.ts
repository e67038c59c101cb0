import { row } from "../table.ts";
import type { Copied } from "./copies.ts";
import type { Holding } from "./measure.ts";

/** What was measured of holding work, as people read it. */
export const holdingTable = ({ starts, wakes, copies, slots, restarts, crowd, notRun }: Holding): string => {
  const lines = ["holding work", `  ${"promise".padEnd(48)}   figure`];
  if (starts) {
    const { on, off, failed } = starts.burst;
    lines.push(
      row("create (warm) to first result, p50, ms", starts.warm.median, 15),
      row("create (warm), p99 ÷ p50", starts.warm.p99 / starts.warm.median, 4),
      plain("create (cold) to first result, p50, ms", starts.cold.median),
      row("20 at once, pool of 4 ÷ pool off, p50", on.median / off.median, 0.9),
      plain("20 at once, pool of 4, p50, ms", on.median),
      row("20 at once: failed", failed, 0),
    );
  }
  if (wakes)
    lines.push(
      row("page view, asleep − awake, p50, ms", wakes.asleep.median - wakes.awake.median, 15),
      plain("page view, awake, p50, ms", wakes.awake.median),
      row("page view, stopped, p50, ms", wakes.stopped.median, 600),
      plain("page view, archived, p50, ms", wakes.archived.median),
    );
  for (const [megabytes, copied] of Object.entries(copies?.sizes ?? {}))
    lines.push(...copiedRows(`${megabytes} MB`, copied));
  if (copies)
    lines.push(
      row("SQLite writer around a snapshot, p50, ms", copies.stall.median, 25),
      row("SQLite writer around a snapshot, p99, ms", copies.stall.p99, 80),
      plain("SQLite writer without one, p50, ms", copies.undisturbed.median),
      plain("SQLite writer without one, p99, ms", copies.undisturbed.p99),
    );
  if (slots)
    lines.push(
      row(`${slots.schedules} schedules, ${slots.perSecond}/s: lateness p99, ms`, slots.lateness.p99, 250),
      plain("lateness p50, ms", slots.lateness.median),
      row("slots without a run, and runs that failed", slots.missing + slots.failed, 0),
    );
  if (restarts)
    lines.push(
      row(`programs restarted, ${restarts.cells} cells: serving, s`, restarts.programs / 1000, 5),
      row("reboot: first awake, s", restarts.first / 1000, 3),
      row("reboot: the one asked for, s", restarts.asked / 1000, 3),
      row("reboot: all awake, s", restarts.all / 1000, 40),
      plain("reboot: from `up` until control serves, s", restarts.up / 1000),
    );
  if (crowd)
    lines.push(
      row(`${crowd.sleeping / 2} sleeping, blank: MB of each`, crowd.blank, 6),
      row(`${crowd.sleeping / 2} sleeping, Node service: MB of each`, crowd.served, 20),
      row(`with ${crowd.stopped} stopped: control idle, % of one CPU`, crowd.controlIdle, 3),
    );
  lines.push(...Object.entries(notRun).map(([part, why]) => `  ${part}: not run (${why})`));
  return lines.join("\n");
};

const copiedRows = (of: string, { raw, snapshot, sync, fork, forkToResult }: Copied): readonly string[] => {
  // Twice what the file system itself takes, and ten milliseconds.
  const most = Number((2 * raw.median + 10).toFixed(1));
  return [
    plain(`${of}: raw btrfs snapshot, p50, ms`, raw.median),
    row(`${of}: snapshot after the sync, p50, ms`, snapshot.median, most),
    plain(`${of}: the sync, p50, ms`, sync.median),
    row(`${of}: fork of a snapshot, p50, ms`, fork.median, most),
    plain(`${of}: fork of a live one to first result, p50, ms`, forkToResult.median),
  ];
};

const plain = (name: string, figure: number): string =>
  `  ${name.padEnd(48)} ${figure.toFixed(2).padStart(8)}`;
