import { rm } from "node:fs/promises";
import { computerSizeNames, idSchema } from "@holdfast/contract";
import { syncDirectory, writeDurably } from "@holdfast/kit";
import { z } from "zod";
import { namesIn, readIfThere } from "../lib/files.ts";

const snapshotId = idSchema("snapshot");

const volumeSchema = z.object({
  version: z.literal(1),
  computerId: idSchema("computer"),
  /** Which id range is the computer's; also its address in `cellnet`. */
  slot: z.number().int().nonnegative(),
  /** Number of its level-1 quota group; never used twice while the kernel still knows it. */
  group: z.number().int().positive(),
  size: z.enum(computerSizeNames),
  image: z.string(),
  state: z.enum(["creating", "ready"]),
  /** What is to take the volume's place, from when it is whole until it has done so. */
  restoring: z.object({ id: snapshotId, image: z.string() }).nullable().default(null),
  /** The last restoring that was done. */
  restored: snapshotId.nullable().default(null),
  archive: z
    .object({
      /** Number of the quota group of its place. */
      group: z.number().int().positive(),
      /**
       * `open`: it is written and the volume counts. `sealed`: there is no volume. `unpacking`: the archive counts, and a volume is filled
       * from it. `unpacked`: the volume counts again, the archive is yet to be deleted.
       */
      state: z.enum(["open", "sealed", "unpacking", "unpacked"]),
    })
    .nullable()
    .default(null),
});

const snapshotSchema = z.object({
  version: z.literal(1),
  snapshotId,
  computerId: idSchema("computer"),
  image: z.string(),
});

export type VolumeFacts = Omit<z.output<typeof volumeSchema>, "version">;
export type SnapshotFacts = Omit<z.output<typeof snapshotSchema>, "version">;

/** What is known about each computer or snapshot on this host: in memory, and durable before a write resolves. */
export interface Facts<T> {
  get(id: string): T | undefined;
  all(): Iterable<T>;
  /** `sync` makes durable what the facts speak of, and so them, in place of the facts alone. */
  write(facts: T, sync?: () => Promise<void>): Promise<void>;
  /**
   * Writes what is to be true with the next step of the file system, which is durable at once and makes this so too. Until `know` it is not
   * known; where that step never came, the facts speak of what is not there.
   */
  announce(facts: T): Promise<void>;
  know(facts: T): void;
  remove(id: string): Promise<void>;
}

interface Placed {
  readonly directory: string;
  readonly pathOf: (id: string) => string;
}

export const openVolumeFacts = (placed: Placed): Promise<Facts<VolumeFacts>> =>
  openFacts(placed, volumeSchema, ({ computerId }) => computerId);

export const openSnapshotFacts = (placed: Placed): Promise<Facts<SnapshotFacts>> =>
  openFacts(placed, snapshotSchema, (facts) => facts.snapshotId);

const openFacts = async <T extends { readonly version: 1 }>(
  { directory, pathOf }: Placed,
  schema: z.ZodType<T>,
  idOf: (facts: Omit<T, "version">) => string,
): Promise<Facts<Omit<T, "version">>> => {
  const known = new Map<string, Omit<T, "version">>();
  for (const name of await namesIn(directory)) {
    const path = `${directory}/${name}`;
    // A temporary file of a write that never finished: what it was to replace still stands.
    if (name.startsWith(".")) {
      await rm(path);
      continue;
    }
    const { version: _version, ...facts } = parse(schema, path, await readIfThere(path));
    known.set(idOf(facts), facts);
  }
  const store = (facts: Omit<T, "version">, sync?: () => Promise<void>): Promise<void> =>
    writeDurably(pathOf(idOf(facts)), `${JSON.stringify({ version: 1, ...facts })}\n`, 0o600, { sync });
  return {
    get: (id) => known.get(id),
    all: () => [...known.values()],
    write: async (facts, sync) => {
      await store(facts, sync);
      known.set(idOf(facts), facts);
    },
    announce: (facts) => store(facts, () => Promise.resolve()),
    know: (facts) => void known.set(idOf(facts), facts),
    remove: async (id) => {
      await rm(pathOf(id), { force: true });
      await syncDirectory(directory);
      known.delete(id);
    },
  };
};

const parse = <T>(schema: z.ZodType<T>, path: string, text: string | undefined): T => {
  try {
    return schema.parse(JSON.parse(text ?? ""));
  } catch (cause) {
    throw new Error(
      `${path} is damaged. Restore it from a backup, or move it away together with what it speaks of.`,
      { cause },
    );
  }
};
