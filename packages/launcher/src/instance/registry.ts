import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { instancePattern } from "@holdfast/contract";
import { writeDurably } from "@holdfast/kit";
import { withLock } from "../host/lock.ts";
import { overlaps, readTakenRanges, type IdRange } from "./id-ranges.ts";

/** Each computer has 65,536 ids; an instance has room for 2,000 of them. */
export const uidsPerComputer = 65_536;
const uidsPerInstance = uidsPerComputer * 2000;
/** Above everything that distributions hand out; the block below it is the image builder's. */
const firstUid = 1526 * uidsPerComputer;
/** Ids from 2³¹ on are negative to some programs. */
const lastUid = 2 ** 31 - 1;
export const imageBuilderRange: IdRange = { base: firstUid - uidsPerComputer, count: uidsPerComputer };
const firstPort = 7300;
const lastPort = 65_535;

const entry = z.object({
  data: z.string(),
  short_id: z.string(),
  uid_base: z.number().int(),
  uid_count: z.number().int(),
  /** Of the API; the next two are of projects and of what a TLS proxy asks, absent where they had no addresses yet. */
  port: z.number().int(),
  projects_port: z.number().int().optional(),
  ask_port: z.number().int().optional(),
});
const registry = z.object({
  version: z.literal(1),
  instances: z.record(z.string().regex(instancePattern), entry),
});

type StoredEntry = z.output<typeof entry>;
export type RegistryEntry = StoredEntry & { readonly projects_port: number; readonly ask_port: number };
type Registry = z.output<typeof registry>;

/** The host's instances and what was handed out to each: a block of uids, a short id, ports. One file for the host, under a lock. */
export interface HostRegistry {
  /** What `instance` has, handed out now if it is new. Throws when it lives in another data directory or no block is free. */
  claim(instance: string, data: string): Promise<{ readonly entry: RegistryEntry; readonly added: boolean }>;
  find(instance: string): Promise<StoredEntry | undefined>;
  list(): Promise<Readonly<Record<string, StoredEntry>>>;
  release(instance: string): Promise<void>;
}

export const createHostRegistry = (options: {
  readonly directory: string;
  /** A number in [0, bound). */
  readonly random: (bound: number) => number;
  readonly takenRanges?: () => Promise<readonly IdRange[]>;
  /** Whether nobody on the host listens on this port; by default nobody does. Asked only about ports that are to be handed out. */
  readonly isFree?: (port: number) => Promise<boolean>;
}): HostRegistry => {
  const path = join(options.directory, "instances.json");
  const lockPath = join(options.directory, "instances.lock");
  const takenRanges = options.takenRanges ?? readTakenRanges;
  const isFree = options.isFree ?? (() => Promise.resolve(true));

  const read = async (): Promise<Registry> => {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    });
    return text === undefined ? { version: 1, instances: {} } : registry.parse(JSON.parse(text));
  };
  const write = (content: Registry): Promise<void> =>
    writeDurably(path, `${JSON.stringify(content, null, 2)}\n`, 0o644);

  return {
    claim: (instance, data) =>
      withLock(lockPath, async () => {
        const content = await read();
        const known = content.instances[instance];
        if (known && known.data !== data) {
          throw new Error(
            `The instance ${instance} lives in ${known.data}, not in ${data}. Use its directory, or another instance name.`,
          );
        }
        const entries = Object.values(content.instances);
        const nextPort = portsFor(entries, isFree);
        const keep = async (kept: RegistryEntry): Promise<RegistryEntry> => {
          await write({ version: 1, instances: { ...content.instances, [instance]: kept } });
          return kept;
        };
        if (known) {
          const projects_port = known.projects_port ?? (await nextPort());
          const ask_port = known.ask_port ?? (await nextPort());
          const entry = { ...known, projects_port, ask_port };
          const isWhole = known.projects_port !== undefined && known.ask_port !== undefined;
          return { entry: isWhole ? entry : await keep(entry), added: false };
        }
        const others = Object.entries(content.instances);
        const sameData = others.find(([, other]) => other.data === data);
        if (sameData)
          throw new Error(`${data} belongs to the instance ${sameData[0]}. Choose another data directory.`);
        const added = await keep({
          data,
          short_id: pickShortId(entries, options.random),
          uid_base: pickUidBase(entries, await takenRanges()),
          uid_count: uidsPerInstance,
          port: await nextPort(),
          projects_port: await nextPort(),
          ask_port: await nextPort(),
        });
        return { entry: added, added: true };
      }),
    find: async (instance) => (await read()).instances[instance],
    list: async () => (await read()).instances,
    release: (instance) =>
      withLock(lockPath, async () => {
        const { [instance]: released, ...kept } = (await read()).instances;
        if (released) await write({ version: 1, instances: kept });
      }),
  };
};

const pickUidBase = (existing: readonly StoredEntry[], taken: readonly IdRange[]): number => {
  const used = [
    ...taken,
    ...existing.map(({ uid_base, uid_count }) => ({ base: uid_base, count: uid_count })),
  ];
  for (let base = firstUid; base + uidsPerInstance - 1 <= lastUid; base += uidsPerInstance) {
    const range = { base, count: uidsPerInstance };
    if (!used.some((other) => overlaps(range, other))) return base;
  }
  throw new Error(
    "No block of user ids is free for another instance: remove an instance, or free ranges in /etc/subuid.",
  );
};

const pickShortId = (existing: readonly StoredEntry[], random: (bound: number) => number): string => {
  const used = new Set(existing.map((other) => other.short_id));
  for (let tries = 0; tries < 1000; tries += 1) {
    const digits = Array.from({ length: 3 }, () => "abcdefghijklmnopqrstuvwxyz0123456789".charAt(random(36)));
    const id = `${"abcdefghijklmnopqrstuvwxyz".charAt(random(26))}${digits.join("")}`;
    if (!used.has(id)) return id;
  }
  throw new Error("No short id could be found for another instance.");
};

/** Each call answers the next from 7300 on that no instance was given and nobody listens on. */
const portsFor = (
  existing: readonly StoredEntry[],
  isFree: (port: number) => Promise<boolean>,
): (() => Promise<number>) => {
  const used = new Set(existing.flatMap((other) => [other.port, other.projects_port, other.ask_port]));
  let port = firstPort - 1;
  return async () => {
    for (port += 1; port <= lastPort; port += 1) if (!used.has(port) && (await isFree(port))) return port;
    throw new Error(`No TCP port from ${firstPort} on is free for another instance.`);
  };
};
