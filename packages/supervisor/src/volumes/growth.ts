import { HoldfastError } from "@holdfast/contract";
import { createBound } from "../lib/turns.ts";
import type { Btrfs } from "./btrfs.ts";
import { growthLimitBytes, readSpace } from "./space.ts";

/** The quota group above those of all volumes; see `growthLimitBytes`. */
export const poolGroup = { id: "2/1", number: 1 } as const;

/** btrfs reserves far more for a change than it then takes. */
export const roomToStartBytes = 16 * 1024 * 1024;

/** How far all volumes of a pool may grow together. */
export interface Growth {
  /** Throws `host_full` at 90 % of the pool. */
  refuse(): Promise<void>;
  /** Sets the limit anew, by what is held and free now. */
  renew(): Promise<void>;
  /** Lets them grow by `roomToStartBytes` more while `work` runs. Others that have the same at that time keep theirs. */
  withRoom<T>(work: () => Promise<T>): Promise<T>;
}

/** `settled` resolves once what groups hold is counted: until then the numbers begin at nothing. */
export const createGrowth = (
  pool: string,
  btrfs: Pick<Btrfs, "heldBytes" | "limitGroup">,
  settled: () => Promise<void> = () => Promise.resolve(),
): Growth => {
  const inTurn = createBound(1);
  let rooms = 0;
  const renew = (): Promise<void> =>
    inTurn(async () => {
      await settled();
      const limit = growthLimitBytes(await readSpace(pool), await btrfs.heldBytes(pool, poolGroup.id));
      await btrfs.limitGroup(pool, poolGroup.id, limit + rooms * roomToStartBytes);
    });
  return {
    refuse: async () => {
      const space = await readSpace(pool);
      if (space.growthRefused)
        throw new HoldfastError("host_full", "the pool is 90 % full; the rest is kept for deleting", {
          used_bytes: space.usedBytes,
          total_bytes: space.totalBytes,
        });
    },
    renew,
    withRoom: async (work) => {
      rooms += 1;
      try {
        await renew();
        return await work();
      } finally {
        rooms -= 1;
        await renew();
      }
    },
  };
};
