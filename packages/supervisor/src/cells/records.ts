import { rm } from "node:fs/promises";
import { cellView, computerSizeNames, idSchema } from "@holdfast/contract";
import type { Logger } from "@holdfast/kit";
import { z } from "zod";
import { namesIn, readIfThere, writeWhole } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";

const recordSchema = z.object({
  version: z.literal(1),
  computerId: idSchema("computer"),
  cellId: idSchema("cell"),
  slot: z.number().int().nonnegative(),
  size: z.enum(computerSizeNames),
  /** A cell in `starting` was never handed out: the next start of the supervisor takes it down. */
  phase: z.enum(["starting", "running", "exited"]),
  startedAtMs: z.number(),
  /** Wall clock, for the next start of the supervisor only; this one counts on its own monotonic clock. */
  leaseEndsAtMs: z.number(),
  exit: cellView.shape.exit,
  /** Started ahead, for nobody yet: nothing of anybody's is on its volume. */
  warm: z.boolean().default(false),
  /** Digest of policy and agent that it was started under. */
  policy: z.string().default(""),
  /** Whose archive's place it is shown. */
  archiveOf: idSchema("computer").nullable().default(null),
});

export type CellRecord = Omit<z.output<typeof recordSchema>, "version">;

/** What the next supervisor must know to adopt the cells that this one started. A reboot makes all of it void. */
export interface CellRecords {
  write(record: CellRecord): Promise<void>;
  remove(computerId: string): Promise<void>;
  /** Damaged ones are left out: their cells are taken down like half-made ones. */
  all(): Promise<CellRecord[]>;
}

export const createRecords = (options: {
  readonly places: Places;
  readonly directory: string;
  readonly logger: Logger;
}): CellRecords => ({
  write: (record) =>
    writeWhole(options.places.cellRecord(record.computerId), JSON.stringify({ version: 1, ...record })),
  remove: (computerId) => rm(options.places.cellRecord(computerId), { force: true }),
  all: async () => {
    const records: CellRecord[] = [];
    for (const name of await namesIn(options.directory)) {
      if (!name.endsWith(".json")) continue;
      const parsed = recordSchema.safeParse(parse(await readIfThere(`${options.directory}/${name}`)));
      if (parsed.success) records.push(parsed.data);
      else options.logger.warn("a cell's record is damaged; its cell will be taken down", { name });
    }
    return records;
  },
});

const parse = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
};
