import { HoldfastError } from "@holdfast/contract";
import type { Facts, VolumeFacts } from "./facts.ts";

/** Hands out what no two computers may share: id ranges, and quota groups, of which the kernel still knows deleted ones for a while. */
export interface Numbers {
  /** Runs `work` with an id range that nobody else gets; with its facts written it is taken. Throws `host_full`. */
  withSlot<T>(work: (slot: number) => Promise<T>): Promise<T>;
  nextGroup(): number;
  /** No group up to this one is handed out. */
  passGroup(group: number): void;
}

/** Group 1 is of trials. */
const firstGroup = 2;

export const createNumbers = (facts: Pick<Facts<VolumeFacts>, "all">, slots: number): Numbers => {
  const reserved = new Set<number>();
  let lastGroup = firstGroup - 1;
  const takeSlot = (): number => {
    const taken = new Set([...facts.all()].map((volume) => volume.slot));
    for (let slot = 0; slot < slots; slot += 1) {
      if (taken.has(slot) || reserved.has(slot)) continue;
      reserved.add(slot);
      return slot;
    }
    throw new HoldfastError("host_full", `all ${slots} id ranges of this instance are in use`, {
      limit: slots,
    });
  };
  return {
    withSlot: async (work) => {
      const slot = takeSlot();
      try {
        return await work(slot);
      } finally {
        reserved.delete(slot);
      }
    },
    nextGroup: () => {
      lastGroup += 1;
      return lastGroup;
    },
    passGroup: (group) => {
      lastGroup = Math.max(lastGroup, group);
    },
  };
};
