import { z } from "zod";

/**
 * One change that Holdfast said was done; `leaving` says that a computer is about to be destroyed, so that nobody can know what it is
 * until that is acknowledged. `id`: of the computer or the process.
 */
export const acknowledged = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), n: z.number() }),
  z.object({ kind: z.literal("line"), n: z.number(), id: z.string() }),
  z.object({ kind: z.literal("created"), n: z.number(), id: z.string() }),
  z.object({ kind: z.literal("leaving"), n: z.number(), id: z.string() }),
  z.object({ kind: z.literal("destroyed"), n: z.number(), id: z.string() }),
]);

export type Acknowledged = z.output<typeof acknowledged>;
