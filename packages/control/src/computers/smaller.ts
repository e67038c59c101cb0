import { type ComputerSize, computerSizes, HoldfastError } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";

/**
 * Ceilings count disks by the sizes of computers, so none is made smaller, nor copied to a smaller one, than what it holds. `usedBytes`: with
 * its snapshots, 0 where nothing of it is on the host; asked only where it matters. Throws `wrong_state`.
 */
export const refuseSmaller = async (
  computer: Pick<Computer, "name" | "size">,
  size: ComputerSize,
  usedBytes: () => Promise<number>,
): Promise<void> => {
  const most = computerSizes[size].disk_bytes;
  if (most >= computerSizes[computer.size].disk_bytes) return;
  const used = await usedBytes();
  if (used <= most) return;
  throw new HoldfastError(
    "wrong_state",
    `${computer.name} and its snapshots hold ${used} bytes, and the disk of a ${size} computer ${most}: delete something, or take a larger size`,
    { state: "too_full", limit: most, value: used },
  );
};

/** What is packed is smaller than what it was packed from. Throws `wrong_state`. */
export const refusePacked = ({ name, state, desiredState }: Computer): void => {
  if (state !== "archived" && desiredState !== "archived") return;
  throw new HoldfastError("wrong_state", `${name} is archived: wake it before it is made smaller`, { state });
};
