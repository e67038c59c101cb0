import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { z } from "zod";
import { readIfThere } from "../lib/files.ts";
import type { HelperService } from "../lib/helper-service.ts";
import type { Outcome, ProgramRunner } from "../lib/run-program.ts";

export interface QuotaGroup {
  /** `level/number`. */
  readonly id: string;
  readonly level: number;
  readonly bytes: number;
  /**
   * Level 0: the subvolume is gone and nothing is counted any more. Newer kernels remove such a group themselves; removing one that
   * still counts makes the kernel stop all accounting.
   */
  readonly stale: boolean;
  /** Level 0 only: whether it belongs to a computer's volume. */
  readonly volume: boolean;
}

export interface VolumePlan {
  readonly pool: string;
  /** Of the group `1/<group>`, below `2/<parentGroup>`. */
  readonly group: number;
  readonly parentGroup: number;
  readonly limitBytes: number;
  readonly directory: string;
  readonly name: string;
  readonly directories: readonly string[];
  /** The subvolume that it begins as a copy of; then `directories` are not made. */
  readonly source?: string;
}

export interface SnapshotPlan {
  readonly source: string;
  readonly directory: string;
  readonly name: string;
  /** It counts in the group `1/<group>`. */
  readonly group: number;
  readonly readOnly: boolean;
  /** What was written before is waited for first. */
  readonly sync: boolean;
}

/** The few things asked of `btrfs`. Paths are the supervisor's own; none is inside a volume. */
export interface Btrfs {
  /** Makes a quota group if it is not there. */
  createGroup(pool: string, group: string): Promise<void>;
  limitGroup(pool: string, group: string, bytes: number): Promise<void>;
  /** The kernel refuses while the group still has members; then it stays for a later try. */
  tryDestroyGroup(pool: string, group: string): Promise<void>;
  /** Where the kernel has lost count, and so holds nobody to a limit, counts anew first and waits for it. */
  groups(pool: string): Promise<readonly QuotaGroup[]>;
  /** What the members of a group hold together. Reads a file of the kernel, no more; throws when there is no such group. */
  heldBytes(pool: string, group: string): Promise<number>;
  createSubvolume(path: string, group?: string): Promise<void>;
  /** Makes a subvolume with these directories, or as a copy, in a quota group of its own. Durable after `sync`, a copy at once. */
  createVolume(plan: VolumePlan): Promise<void>;
  /** A durable copy. Rejects with the step `nestedSubvolumes` where subvolumes inside would be missing in it. */
  snapshot(plan: SnapshotPlan): Promise<{ readonly syncUs: number; readonly snapshotUs: number }>;
  /** In this order; durable when this resolves. One that is not there is none. Rejects with the step `nestedSubvolumes`. */
  deleteSubvolumes(paths: readonly string[]): Promise<void>;
  /** How many subvolumes are directly inside the one at `path`. */
  nested(path: string): Promise<number>;
  isReadOnly(path: string): Promise<boolean>;
  /** Makes a subvolume read-only and everything in it durable. */
  seal(path: string): Promise<void>;
  /** Removes those of the directories below a volume that are empty, the deepest first; follows no link. */
  tidy(volume: string, directories: readonly string[]): Promise<void>;
  /** Whether the kernel has lost count of what groups hold; undefined where it does not say. */
  hasLostCount(pool: string): Promise<boolean | undefined>;
  /** Counts anew what groups hold; takes as long as reading all metadata does. */
  count(pool: string): Promise<void>;
  /** Makes everything before it durable. */
  sync(pool: string): Promise<void>;
}

/** What everybody has written is waited for; a disk may be slow. */
const syncTimeoutMs = 60_000;

const taken = z.object({ sync_us: z.number(), snapshot_us: z.number() });
const found = z.object({ count: z.number() });

/** The step at which subvolumes inside a subvolume are found; none is in a snapshot, and none goes with it. */
export const nestedSubvolumes = "nested_subvolumes";

/** Reads all metadata once: seconds on a pool of many gigabytes. */
const rescanOptions = { timeoutMs: 10 * 60_000 };

/** What every computer waits for goes to the helper, the rest to the program `btrfs`. */
export const createBtrfs = (runner: ProgramRunner, service: HelperService): Btrfs => {
  const btrfs = (...args: string[]): Promise<string> => runner.run("btrfs", args, { timeoutMs: 60_000 });
  const showGroups = async (pool: string): Promise<Outcome> => {
    const shown = await runner.outcome("btrfs", ["qgroup", "show", "--raw", pool]);
    if (shown.status !== 0) throw new Error(`the quota groups could not be read: ${shown.stderr.trim()}`);
    return shown;
  };
  const shownBelow = new Map<string, string>();
  /** Where the kernel shows the groups of a pool. */
  const groupsDirectory = async (pool: string): Promise<string> => {
    const known = shownBelow.get(pool);
    if (known !== undefined) return known;
    const id = /uuid: ([0-9a-f-]{36})/.exec(await btrfs("filesystem", "show", pool))?.[1];
    if (id === undefined) throw new Error(`btrfs does not say which file system ${pool} is`);
    const directory = `/sys/fs/btrfs/${id}/qgroups`;
    shownBelow.set(pool, directory);
    return directory;
  };
  return {
    createGroup: async (pool, group) => {
      const created = await runner.outcome("btrfs", ["qgroup", "create", group, pool]);
      if (created.status !== 0 && !created.stderr.includes("File exists"))
        throw new Error(`the quota group ${group} could not be made: ${created.stderr.trim()}`);
    },
    limitGroup: async (pool, group, bytes) => {
      await btrfs("qgroup", "limit", String(bytes), group, pool);
    },
    tryDestroyGroup: async (pool, group) => {
      await runner.outcome("btrfs", ["qgroup", "destroy", group, pool]);
    },
    groups: async (pool) => {
      const shown = await showGroups(pool);
      if (!/inconsistent/.test(shown.stderr)) return parseGroups(shown.stdout);
      await runner.run("btrfs", ["quota", "rescan", "-w", pool], rescanOptions);
      return parseGroups((await showGroups(pool)).stdout);
    },
    heldBytes: async (pool, group) => {
      const path = `${await groupsDirectory(pool)}/${group.replace("/", "_")}/referenced`;
      const bytes = Number(await readFile(path, "utf8"));
      if (!Number.isSafeInteger(bytes)) throw new Error(`${path} holds no number`);
      return bytes;
    },
    createSubvolume: async (path, group) => {
      await btrfs("subvolume", "create", ...(group ? ["-i", group] : []), path);
    },
    isReadOnly: async (path) => (await btrfs("property", "get", "-ts", path, "ro")).trim() === "ro=true",
    createVolume: async ({ parentGroup: parent_group, limitBytes: limit_bytes, ...plan }) => {
      await service.ask("make_volume", { ...plan, parent_group, limit_bytes });
    },
    snapshot: async ({ readOnly: read_only, ...plan }) => {
      const { sync_us, snapshot_us } = taken.parse(
        await service.ask("snapshot", { ...plan, read_only }, syncTimeoutMs),
      );
      return { syncUs: sync_us, snapshotUs: snapshot_us };
    },
    deleteSubvolumes: async (paths) => {
      const subvolumes = paths.map((path) => ({ directory: dirname(path), name: basename(path) }));
      // Committed, or a power cut could bring back a volume whose facts are gone.
      await service.ask("delete", { subvolumes }, syncTimeoutMs);
    },
    nested: async (volume) => found.parse(await service.ask("nested", { volume })).count,
    seal: async (volume) => {
      await service.ask("seal", { volume }, syncTimeoutMs);
    },
    tidy: async (volume, directories) => {
      await service.ask("tidy", { volume, directories });
    },
    hasLostCount: async (pool) => {
      const path = `${await groupsDirectory(pool)}/inconsistent`;
      const said = (await readIfThere(path))?.trim();
      return said === undefined ? undefined : said !== "0";
    },
    count: async (pool) => {
      await service.ask("count", { pool }, rescanOptions.timeoutMs);
    },
    sync: async (pool) => {
      await service.ask("sync", { pool }, syncTimeoutMs);
    },
  };
};

/** Reads the table of `btrfs qgroup show --raw`: id, referenced bytes, exclusive bytes, path. */
export const parseGroups = (table: string): QuotaGroup[] =>
  table.split("\n").flatMap((line) => {
    const match = /^(\d+)\/(\d+)\s+(\d+)\s+(\d+)\s*(.*)$/.exec(line);
    if (!match) return [];
    const [, level = "", number = "", bytes = "", exclusive = "", path = ""] = match;
    return {
      id: `${level}/${number}`,
      level: Number(level),
      bytes: Number(bytes),
      stale: level === "0" && path.trim() === "<stale>" && bytes === "0" && exclusive === "0",
      volume: path.startsWith("supervisor/computers/"),
    };
  });
