import type { HoldfastError } from "@holdfast/contract";

/** Makes room on a host that is full. Filled by `memory/`. */
export interface Relief {
  /**
   * A computer did not start because the host is full. True: room is being made, and the computer is looked at again when that is over.
   * False: nothing that could be given up would help.
   */
  ask(computerId: string, refusal: HoldfastError): boolean;
}
