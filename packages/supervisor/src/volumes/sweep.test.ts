import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { test } from "node:test";
import { createLogger, systemClock } from "@holdfast/kit";
import { placesOf } from "../lib/places.ts";
import type { Btrfs, QuotaGroup } from "./btrfs.ts";
import { openVolumes } from "./index.ts";

const group = (id: string): QuotaGroup => ({
  id,
  level: Number(id.slice(0, 1)),
  bytes: 0,
  stale: false,
  volume: false,
});

test("the group of a volume that is just being made is nobody's leftover", async () => {
  // In memory, so that how full the host's disk is decides nothing.
  const pool = await mkdtemp("/dev/shm/holdfast-sweep-");
  const listed = Promise.withResolvers<readonly QuotaGroup[]>();
  const making = Promise.withResolvers<void>();
  const made = Promise.withResolvers<void>();
  const destroyed: string[] = [];
  let groups = (): Promise<readonly QuotaGroup[]> => Promise.resolve([group("2/1")]);
  const btrfs: Partial<Btrfs> = {
    groups: () => groups(),
    heldBytes: () => Promise.resolve(0),
    limitGroup: () => Promise.resolve(),
    createVolume: () => {
      making.resolve();
      return made.promise;
    },
    sync: () => Promise.resolve(),
    tryDestroyGroup: async (_pool, id) => {
      destroyed.push(id);
    },
  };
  try {
    const volumes = await openVolumes({
      places: placesOf({ instance: "sweep", shortId: "swee", pool, run: `${pool}/run` }),
      pool,
      btrfs: btrfs as Btrfs,
      images: {
        find: (digest) => Promise.resolve({ digest, path: "/nonexistent" }),
        removeExcept: () => Promise.resolve(),
      },
      image: "0",
      slots: 4,
      logger: createLogger({ program: "test", now: systemClock.now, level: "error" }),
      crashPoint: () => {},
    });
    groups = () => listed.promise;
    const sweeping = volumes.sweep();
    const creating = volumes.create("cmp_00000000000000000000", "small");
    await making.promise;
    listed.resolve([group("2/1"), group("1/2"), group("1/9")]);
    await sweeping;
    made.resolve();
    await creating;
    assert.deepEqual(destroyed, ["1/9"]);
  } finally {
    await rm(pool, { recursive: true });
  }
});
