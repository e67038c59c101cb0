import { type ComputerSize, computerSizes, HoldfastError, type SupervisorMethods } from "@holdfast/contract";
import type { RpcClient } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";

/** The row is locked meanwhile; the supervisor's word is a few numbers that it has. */
const usageMs = 5_000;

/**
 * Ceilings count disks by the sizes of computers, so none is made smaller, nor copied to a smaller one, than what it and its snapshots hold;
 * nothing where nothing of it is on the host. The supervisor is asked only where it matters. Throws `wrong_state`.
 */
export const refuseSmaller = async (
  supervisor: RpcClient<SupervisorMethods>,
  computer: Pick<Computer, "id" | "name" | "size">,
  size: ComputerSize,
): Promise<void> => {
  if (!isSmaller(computer, size)) return;
  const { usage } = await supervisor.call("usage.read", { computer_id: computer.id }, { timeoutMs: usageMs });
  const [used, most] = [usage?.disk_bytes ?? 0, computerSizes[size].disk_bytes];
  if (used <= most) return;
  throw new HoldfastError(
    "wrong_state",
    `${computer.name} and its snapshots hold ${used} bytes, and the disk of a ${size} computer ${most}: delete something, or take a larger size`,
    { state: "too_full", limit: most, value: used },
  );
};

/** What is packed is smaller than what it was packed from. Throws `wrong_state`. */
export const refusePacked = (computer: Computer, size: ComputerSize): void => {
  const { name, state, desiredState } = computer;
  if (!isSmaller(computer, size) || (state !== "archived" && desiredState !== "archived")) return;
  throw new HoldfastError("wrong_state", `${name} is archived: wake it before it is made smaller`, { state });
};

const isSmaller = (computer: Pick<Computer, "size">, size: ComputerSize): boolean =>
  computerSizes[size].disk_bytes < computerSizes[computer.size].disk_bytes;
