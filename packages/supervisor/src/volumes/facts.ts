import { rm } from "node:fs/promises";
import { computerSizeNames, idSchema } from "@holdfast/contract";
import { syncDirectory, writeDurably } from "@holdfast/kit";
import { z } from "zod";
import { namesIn, readIfThere } from "../lib/files.ts";

const factsSchema = z.object({
  version: z.literal(1),
  computerId: idSchema("computer"),
  /** Which id range is the computer's; also its address in `cellnet`. */
  slot: z.number().int().nonnegative(),
  /** Number of its level-1 quota group; never used twice while the kernel still knows it. */
  group: z.number().int().positive(),
  size: z.enum(computerSizeNames),
  image: z.string(),
  state: z.enum(["creating", "ready"]),
});

export type VolumeFacts = Omit<z.output<typeof factsSchema>, "version">;

/** What is known about each computer on this host: in memory, and durable before a write resolves. */
export interface Facts {
  get(computerId: string): VolumeFacts | undefined;
  all(): Iterable<VolumeFacts>;
  /** `sync` makes everything on the pool durable instead of the facts alone. */
  write(facts: VolumeFacts, sync?: () => Promise<void>): Promise<void>;
  remove(computerId: string): Promise<void>;
}

export const openFacts = async (options: {
  readonly directory: string;
  readonly pathOf: (computerId: string) => string;
}): Promise<Facts> => {
  const known = new Map<string, VolumeFacts>();
  for (const name of await namesIn(options.directory)) {
    const path = `${options.directory}/${name}`;
    // A temporary file of a write that never finished: what it was to replace still stands.
    if (name.startsWith(".")) {
      await rm(path);
      continue;
    }
    const { version: _version, ...facts } = parse(path, await readIfThere(path));
    known.set(facts.computerId, facts);
  }
  return {
    get: (computerId) => known.get(computerId),
    all: () => [...known.values()],
    write: async (facts, sync) => {
      const content = `${JSON.stringify({ version: 1, ...facts })}\n`;
      await writeDurably(options.pathOf(facts.computerId), content, 0o600, { sync });
      known.set(facts.computerId, facts);
    },
    remove: async (computerId) => {
      await rm(options.pathOf(computerId), { force: true });
      await syncDirectory(options.directory);
      known.delete(computerId);
    },
  };
};

const parse = (path: string, text: string | undefined): z.output<typeof factsSchema> => {
  try {
    return factsSchema.parse(JSON.parse(text ?? ""));
  } catch (cause) {
    throw new Error(
      `${path} is damaged. Restore it from a backup, or move it away together with its volume.`,
      { cause },
    );
  }
};
