import { HoldfastError } from "@holdfast/contract";
import type { MoveParts } from "../computers/moves.ts";

const away = (): never => {
  throw new HoldfastError("unavailable", "this control has no means for it");
};

/** Where nothing walks or copies disks. */
export const noStorage: Pick<MoveParts, "trees" | "origins" | "restorer"> = {
  trees: { pack: async () => away(), unpack: async () => away() },
  origins: { ready: async () => {} },
  restorer: { restored: async () => {} },
};
