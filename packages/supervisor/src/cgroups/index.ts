import { readFile } from "node:fs/promises";
import type { Clock } from "@holdfast/kit";
import { createHybrid } from "./hybrid.ts";
import { createUnified } from "./unified.ts";

export interface CellLimits {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly pids: number;
}

/** `low`: nobody waits for what it does. */
export type CellShare = "usual" | "low";

export interface CellUsage {
  readonly cpuMs: number;
  /** Without page cache that the kernel would give back first. */
  readonly memoryBytes: number;
  readonly pids: number;
  /** Processes killed for want of memory since the cell started. */
  readonly oomKills: number;
  /** Processes that the kernel refused at the limit since the cell started. */
  readonly refusedForks: number;
}

export interface CgroupState {
  readonly populated: boolean;
  /** Every process is. */
  readonly frozen: boolean;
  /** It is asked for, and reached or on its way. */
  readonly freezing: boolean;
}

/** Where a cell's processes belong, for the helper that starts it. */
export interface CgroupPlaces {
  /** v1 directories by controller; empty where everything is on v2. */
  readonly legacy: Readonly<Record<string, string>>;
  readonly unified: string;
}

/**
 * Limits, freezing and ending of cells, the same on both cgroup layouts. Cells are named by computer id. Everything may be
 * repeated; what is not there is not an error to take away.
 */
export interface CellCgroups {
  readonly layout: "unified" | "hybrid";
  /** Controllers whose v1 directories cells are shown; none where everything is on v2. */
  readonly legacyControllers: readonly string[];
  /** Makes the instance's own directories. Called once before anything else. */
  prepare(): Promise<void>;
  create(name: string, limits: CellLimits): Promise<CgroupPlaces>;
  /** Throws when the cell uses more memory than the new limit and cannot give it back. */
  setLimits(name: string, limits: CellLimits): Promise<void>;
  /**
   * Resolves when every process is frozen, or after 5 s: one in a system call that lasts longer does nothing else any more, and is frozen as
   * it returns.
   */
  freeze(name: string): Promise<void>;
  thaw(name: string): Promise<void>;
  /** How much of the processor a cell gets while others want it too: as any other, or next to nothing. */
  setShare(name: string, share: CellShare): Promise<void>;
  /** Asks the kernel to take back what a frozen cell does not need. Bytes; it may take nothing. */
  reclaim(name: string): Promise<number>;
  /** Whether the kernel can be asked for that here. */
  reclaims(): Promise<boolean>;
  /** Kills every process, frozen or not, and resolves when none is left. */
  kill(name: string): Promise<void>;
  /** Removes the directories of a cell without processes, with all children. */
  remove(name: string): Promise<void>;
  /** Undefined when there is no such cell. */
  state(name: string): Promise<CgroupState | undefined>;
  usage(name: string): Promise<CellUsage | undefined>;
  /** Of `usage`, for who asks often. 0 when there is no such cell. */
  oomKills(name: string): Promise<number>;
  /** Calls back when the state may have changed. The returned function ends it. */
  watch(name: string, changed: () => void): () => void;
  /** Every cell that has a directory in any hierarchy. */
  list(): Promise<string[]>;
  /** Removes the instance's own directories, once no cell is left. */
  dispose(): Promise<void>;
}

/** Throws when the host has neither layout. */
export const openCgroups = async (options: {
  readonly directory: string;
  readonly clock: Clock;
  readonly root?: string;
}): Promise<CellCgroups> => {
  const root = options.root ?? "/sys/fs/cgroup";
  const mounts = await readFile("/proc/self/mounts", "utf8");
  const at = (path: string, kind: string): boolean =>
    mounts.split("\n").some((line) => line.split(" ")[1] === path && line.split(" ")[2] === kind);
  if (at(root, "cgroup2")) return createUnified({ ...options, root });
  const hybrid = `${root}/unified`;
  if (!at(hybrid, "cgroup2"))
    throw new Error(
      `There is no cgroup v2 hierarchy at ${root} or ${hybrid}. Boot with systemd's unified hierarchy (systemd.unified_cgroup_hierarchy=1).`,
    );
  return createHybrid({ ...options, root });
};
