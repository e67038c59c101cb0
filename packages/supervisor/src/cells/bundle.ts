import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { allOver } from "../lib/all-over.ts";
import { makeDirectory, namesIn, readIfThere, removeDirectory } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import { buildOciConfig } from "./oci-config.ts";
import type { LinkPlan } from "../network/index.ts";
import type { Policy } from "./policy.ts";
import { treePoints, type TreeMount } from "./trees.ts";

export interface BundlePlan {
  readonly computerId: string;
  readonly firstId: number;
  readonly idCount: number;
  readonly legacyControllers: readonly string[];
  readonly resolver: string;
  /** How the cell is connected; trials of the root alone are not. */
  readonly link?: LinkPlan;
  readonly command?: readonly string[];
  readonly trees?: readonly TreeMount[];
}

/**
 * The directory that the runtime is given. Its parents let everybody pass but nobody look (0711): the cell's own root, which is
 * nobody on the host, has to reach the mount points in it.
 */
export interface Bundles {
  make(plan: BundlePlan): Promise<string>;
  /**
   * Reads the system call filter that the runtime compiled for a cell that was just started, and gives it to later cells: that takes a
   * third of its time otherwise. Whether there is one.
   */
  keepFilter(computerId: string): Promise<boolean>;
  /** Removes exactly what `make`, the helper and the runtime put there, never a tree: a mount left in it is an error, not a loss. */
  remove(computerId: string): Promise<void>;
}

const mountPoints: readonly string[] = ["lower", "volume", "root", ...treePoints];
const files: readonly string[] = ["agent", "users", "config.json", "runtime.log", "pid"];

export const createBundles = (options: {
  readonly places: Places;
  readonly policy: () => Promise<Policy>;
  /** The binary that the runtime calls to connect a cell. */
  readonly agent: string;
}): Bundles => {
  const { places } = options;
  let limit: Promise<number> | undefined;
  let filter: string | undefined;
  const descriptors = (): Promise<number> => (limit ??= descriptorLimit());
  return {
    make: async (plan) => {
      const bundle = places.bundle(plan.computerId);
      await makeDirectory(bundle, 0o711);
      const config = buildOciConfig(await options.policy(), {
        ...plan,
        bundle,
        linker: options.agent,
        filter,
        descriptors: await descriptors(),
        machineId: createHash("sha256")
          .update(`holdfast machine id of ${plan.computerId}`)
          .digest("hex")
          .slice(0, 32),
      });
      await writeFile(`${bundle}/config.json`, JSON.stringify(config), { mode: 0o600 });
      return bundle;
    },
    keepFilter: async (computerId) => {
      const program = await readIfThere(`${places.runtimeState}/${computerId}/seccomp.bpf`, "base64");
      filter = program || undefined;
      return filter !== undefined;
    },
    remove: async (computerId) => {
      const bundle = places.bundle(computerId);
      const shown = await namesIn(`${bundle}/cgroup`);
      await allOver([
        ...files.map((name) => rm(`${bundle}/${name}`, { force: true })),
        ...mountPoints.map((name) => removeDirectory(`${bundle}/${name}`)),
        ...shown.map((name) => removeDirectory(`${bundle}/cgroup/${name}`)),
      ]);
      await removeDirectory(`${bundle}/cgroup`);
      await removeDirectory(bundle);
    },
  };
};

/** Our own hard limit: without CAP_SYS_RESOURCE nobody can be given more. */
const descriptorLimit = async (): Promise<number> => {
  const limits = await readFile("/proc/self/limits", "utf8");
  const hard = Number(/^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1]);
  return Number.isSafeInteger(hard) && hard > 0 ? Math.min(hard, 65_536) : 1024;
};
