import { z } from "zod";

/** One change that Holdfast said was done. `id`: of the computer or the process. */
export const acknowledged = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), n: z.number() }),
  z.object({ kind: z.literal("line"), n: z.number(), id: z.string() }),
  z.object({ kind: z.literal("created"), n: z.number(), id: z.string() }),
  z.object({ kind: z.literal("destroyed"), n: z.number(), id: z.string() }),
]);

export type Acknowledged = z.output<typeof acknowledged>;
