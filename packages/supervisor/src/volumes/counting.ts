import type { Logger } from "@holdfast/kit";
import { createBound } from "../lib/turns.ts";
import type { Btrfs } from "./btrfs.ts";

/**
 * Keeps quotas true over copies. The kernel loses count with a copy that comes into another group than its source's, or into one that shares
 * with a third: a fork, and a snapshot of a fork. It holds nobody to a limit then until all was counted anew.
 */
export interface Counting {
  /** Runs `work`, which makes a copy: one at a time, and not while is counted, which a copy would break off. */
  copying<T>(work: () => Promise<T>): Promise<T>;
  /** Counts anew where the kernel says that it has lost count by itself, as it does when much that was shared is deleted. */
  look(): Promise<void>;
  /** Resolves once nothing is counted: until then the kernel's numbers begin at nothing. */
  settled(): Promise<void>;
}

export const createCounting = (
  pool: string,
  btrfs: Pick<Btrfs, "hasLostCount" | "count">,
  logger: Logger,
): Counting => {
  const inTurn = createBound(1);
  let running: Promise<void> | undefined;
  const settled = (): Promise<void> => running ?? Promise.resolve();
  const tell = (error: unknown): void =>
    logger.warn("the quota groups could not be counted anew; the next sweep tries again", { error });
  /** Nobody waits for it but who copies next. */
  const begin = (): void => {
    running = btrfs
      .count(pool)
      .catch(tell)
      .finally(() => {
        running = undefined;
      });
  };
  return {
    copying: (work) =>
      inTurn(async () => {
        await settled();
        try {
          return await work();
        } finally {
          // Where the kernel does not say, it is one that loses count with every copy.
          if ((await btrfs.hasLostCount(pool).catch(() => undefined)) ?? true) begin();
        }
      }),
    look: () =>
      inTurn(async () => {
        await settled();
        if (await btrfs.hasLostCount(pool)) begin();
      }),
    settled,
  };
};
