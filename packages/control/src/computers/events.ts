import type { Computer } from "../domain/computer.ts";
import type { NewEvent } from "../domain/events.ts";

/** `kind` is the second word: `awake` tells `computer.awake`. */
export const computerEvent = (computer: Computer, kind: string, reason?: string | null): NewEvent => ({
  accountId: computer.accountId,
  kind: `computer.${kind}`,
  target: computer.id,
  computerId: computer.id,
  visibleTo: computer.principalId,
  data: { name: computer.name, ...(reason ? { reason } : {}) },
});
