import { z } from "zod";

/**
 * What the launcher, and root through the CLI, may ask of control, over `socketPath(instance, "control", "launcher")`. The socket is
 * root's alone, which is the whole of the authentication: nothing here is reachable over HTTP.
 */
const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** A stage of `dispatch` that is a port: `filled` says whether something stands behind it that can refuse. */
export const stageView = z.object({
  name: z.string(),
  filled: z.boolean(),
  detail: z.string(),
});

export const controlLauncherMethods = {
  /** Answers as soon as the program runs; `ready` when it serves requests: migrations done, database and supervisor reachable. */
  health: {
    params: z.object({}),
    result: z.object({ ready: z.boolean(), version: z.string(), detail: z.string() }),
  },
  /** Mints a one-time login code for an owner. Each call voids the code before it; it is kept hashed and shown to nobody else. */
  "owner.login_code": {
    params: z.object({}),
    result: z.object({ code: z.string(), expires_at_ms: count }),
  },
  /** Name of the owner that `owner.login_code` is for, once that one has enrolled: a code then replaces a passphrase. */
  "owner.enrolled": {
    params: z.object({}),
    result: z.object({ name: z.string().nullable() }),
  },
  /** Makes the first assistant and its key, only while there is no assistant; afterwards `wrong_state`. The key is shown once. */
  "assistant.bootstrap": {
    params: z.object({ name: z.string().min(1).max(40) }),
    result: z.object({ key: z.string() }),
  },
  /** Every stage of dispatch that is a port, for `doctor`. */
  stages: {
    params: z.object({}),
    result: z.object({ stages: z.array(stageView) }),
  },
} as const;

export type ControlLauncherMethods = typeof controlLauncherMethods;
export type StageView = z.output<typeof stageView>;
