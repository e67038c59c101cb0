import { HoldfastError } from "@holdfast/contract";

/**
 * What of cells could not be taken down yet: a process that the kernel does not let go, a part that is held. Its computer is refused as
 * long as that is so, and nobody else's.
 */
export interface Leftovers {
  /** Takes a cell down. What fails is remembered, with its slot, and thrown. */
  takeDown(computerId: string, slot: number | undefined): Promise<void>;
  /** Tries again what failed before; whether there was anything. Throws `computer_failed` while it still fails. */
  clear(computerId: string): Promise<boolean>;
  /** The computers of which something is left. */
  list(): readonly string[];
}

export const createLeftovers = (
  takeDown: (computerId: string, slot: number | undefined) => Promise<void>,
): Leftovers => {
  const left = new Map<string, number | undefined>();
  const leftovers: Leftovers = {
    takeDown: async (computerId, given) => {
      const slot = given ?? left.get(computerId);
      try {
        await takeDown(computerId, slot);
        left.delete(computerId);
      } catch (error) {
        left.set(computerId, slot);
        throw error;
      }
    },
    clear: async (computerId) => {
      if (!left.has(computerId)) return false;
      try {
        await leftovers.takeDown(computerId, undefined);
        return true;
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        const message = `what is left of the computer's last run cannot be taken away yet: ${why}`;
        throw new HoldfastError("computer_failed", message, { reason: "leftovers" }, { cause });
      }
    },
    list: () => [...left.keys()],
  };
  return leftovers;
};
