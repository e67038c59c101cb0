import type { CellView, ComputerSize } from "@holdfast/contract";
import type { WarmKind } from "../domain/warm.ts";
import type { WarmRow } from "../store/warm.ts";

/** How many of each size wait. */
export type Wanted = Readonly<Record<ComputerSize, number>>;

/**
 * Of `count`, as `up --warm` has it: that many of the smallest size, which is what most ask for, half as many of the next, none of the
 * largest, whose room is better left to whoever asks for it.
 */
export const wantedOf = (count: number): Wanted => ({
  small: count,
  medium: Math.floor(count / 2),
  large: 0,
});

export interface Judged {
  readonly ready: readonly WarmRow[];
  /** Half-made, half-destroyed, dead, made of what is no longer current, claimed by a creation that came to nothing, or more than are wanted. */
  readonly going: readonly WarmRow[];
  readonly missing: readonly ComputerSize[];
}

/** What is to be done about those that there are. `rows`: oldest first, and nobody is making one of them. */
export const judge = (
  rows: readonly WarmRow[],
  cells: readonly CellView[],
  kind: WarmKind,
  wanted: Wanted,
): Judged => {
  const running = new Set(
    cells
      .filter(({ state, warm }) => state === "running" && warm)
      .map((cell) => `${cell.computer_id} ${cell.cell_id}`),
  );
  const ready: WarmRow[] = [];
  const going: WarmRow[] = [];
  const count: Record<ComputerSize, number> = { small: 0, medium: 0, large: 0 };
  for (const row of rows) {
    const isGood =
      row.state === "ready" &&
      row.image === kind.image &&
      row.policy === kind.policy &&
      running.has(`${row.computer_id} ${row.cell_id}`);
    if (!isGood || count[row.size] >= wanted[row.size]) going.push(row);
    else {
      count[row.size] += 1;
      ready.push(row);
    }
  }
  const missing = (Object.keys(count) as ComputerSize[]).flatMap((size) =>
    Array.from({ length: wanted[size] - count[size] }, () => size),
  );
  return { ready, going, missing };
};
