import type { CellView } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { CellRecord } from "./records.ts";

/** One cell as this supervisor knows it. Exited ones stay until the computer's next start or its end. */
export interface Cell {
  record: CellRecord;
  state: CellView["state"];
  /** On the monotonic clock; only while running. */
  leaseEndsAt: number;
  oomKills: number;
  /** Ends the watch of its cgroup and its lease. */
  release: (() => void)[];
}

export const viewOf = (cell: Cell, clock: Clock): CellView => ({
  computer_id: cell.record.computerId,
  cell_id: cell.record.cellId,
  state: cell.state,
  size: cell.record.size,
  started_at_ms: cell.record.startedAtMs,
  lease_ends_in_ms:
    cell.state === "running" ? Math.max(0, Math.round(cell.leaseEndsAt - clock.monotonic())) : 0,
  warm: cell.record.warm,
  exit: cell.record.exit,
});

/** What an adopted cell gets, so that a control that comes back with us can renew before it is frozen. */
const adoptionGraceMs = 60_000;

/** The rest of a lease that another supervisor granted, in milliseconds. A wall clock that was set cannot lengthen it past `longestMs`. */
export const remainingLease = (endsAtMs: number, nowMs: number, longestMs: number): number =>
  Math.min(longestMs, Math.max(adoptionGraceMs, endsAtMs - nowMs));
