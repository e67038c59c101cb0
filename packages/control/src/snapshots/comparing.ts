import { HoldfastError, type OperationOutput, type OperationParams } from "@holdfast/contract";
import type { OperationContext } from "../domain/handler.ts";
import type { Differences, TreeDifference, Trees } from "../domain/trees.ts";
import { decodeCursor, encodeCursor } from "../lib/cursor.ts";
import { findSnapshot } from "../store/snapshots.ts";
import type { Snapshots, SnapshotsParts } from "./snapshots.ts";
import { noSnapshot } from "./view.ts";

export interface ComparingParts extends Pick<SnapshotsParts, "store"> {
  readonly snapshots: Snapshots;
  readonly trees: Pick<Trees, "look">;
}

/** Compares whole disks, in a throwaway cell. What is now is looked at as a snapshot that goes with the comparison. */
export class Comparing {
  readonly #parts: ComparingParts;

  constructor(parts: ComparingParts) {
    this.#parts = parts;
  }

  async snapshots(
    context: OperationContext,
    params: OperationParams<"snapshot.diff">,
  ): Promise<{ readonly target: string; readonly output: OperationOutput<"snapshot.diff"> }> {
    const { snapshots, store } = this.#parts;
    const { computer, row } = await snapshots.find(context.principal, params.computer, params.snapshot);
    const look = (to: string) => this.#look(row.id, to, params, context.signal);
    let found: Differences;
    if (params.to === undefined) found = await snapshots.passing(computer, context, context.signal, look);
    else {
      const to = await findSnapshot(store.db, computer.id, params.to);
      if (!to) throw noSnapshot(computer, params.to);
      found = await look(to.id);
    }
    const { added, changed, removed, truncated, next } = found;
    return {
      target: row.id,
      output: {
        differences: found.differences.map(differenceView),
        added,
        changed,
        removed,
        truncated,
        next_cursor: next === null ? null : encodeCursor(next),
      },
    };
  }

  #look(
    from: string,
    to: string,
    { path, cursor, limit }: Pick<OperationParams<"snapshot.diff">, "path" | "cursor" | "limit">,
    signal: AbortSignal,
  ): Promise<Differences> {
    const after = decodeCursor(cursor, pathPattern);
    if (path !== undefined && path.split("/").includes(".."))
      throw new HoldfastError("invalid_input", "path: no `..` in it", {
        issues: [{ path: ["path"], message: "no `..`" }],
      });
    return this.#parts.trees.look(
      { a: { snapshotId: from }, b: { snapshotId: to } },
      (view) => view.diff({ path, after, limit }),
      signal,
    );
  }
}

/** Whatever a tree's names are made of; the tool that walks it takes any. */
export const pathPattern = /^[^\0]{1,8192}$/s;

export const differenceView = (
  one: TreeDifference,
): OperationOutput<"snapshot.diff">["differences"][number] => ({
  path: one.path,
  change: one.change,
  kind: one.kind,
  size_before: one.sizeBefore,
  size_after: one.sizeAfter,
});
