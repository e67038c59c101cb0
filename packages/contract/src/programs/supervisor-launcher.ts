import { z } from "zod";
import { supervisorMethods } from "./supervisor.ts";

/** What the launcher, and root through the CLI, may ask of the supervisor, over `socketPath(instance, "supervisor", "launcher")`. */
export const supervisorLauncherMethods = {
  /** Answers as soon as the program runs; `ready` when cells can be started: every layer proven, running cells adopted. */
  health: {
    params: z.object({}),
    result: z.object({ ready: z.boolean(), version: z.string(), detail: z.string() }),
  },
  /** The same as control gets, with the proofs of every layer. */
  info: supervisorMethods.info,
  /**
   * Ends every cell and takes away what the supervisor made on the host outside the pool: namespaces, links, cgroups, mounts. From then
   * on starts are refused with `wrong_state`. The launcher asks this before it stops the supervisor for good.
   */
  clear: {
    params: z.object({}),
    result: z.object({ cells_stopped: z.number().int().nonnegative() }),
  },
} as const;

export type SupervisorLauncherMethods = typeof supervisorLauncherMethods;
