import { z } from "zod";
import type { CgroupPlaces } from "../cgroups/index.ts";
import type { HelperService } from "../lib/helper-service.ts";
import type { RulesInForce } from "../network/index.ts";
import { mountTargets } from "./oci-config.ts";
import { treeMounts, type TreeSpec } from "./trees.ts";

export interface RootPlan {
  readonly bundle: string;
  readonly image: string;
  readonly volume: string;
  readonly agent: string;
  readonly firstId: number;
  readonly idCount: number;
}

export interface StartPlan {
  readonly id: string;
  readonly root: RootPlan;
  readonly sockets: readonly { readonly path: string; readonly gid: number }[];
  readonly cgroups: CgroupPlaces;
  readonly rules: RulesInForce;
  readonly trees?: readonly TreeSpec[];
}

const started = z.object({
  pid: z.number().int().positive(),
  timings_us: z.array(z.tuple([z.string(), z.number()])),
});
const proven = z.object({ owner_on_disk: z.number().int() });

export type Started = z.output<typeof started>;

/** Makes cells and tries what they need. Rejects with `computer_failed` naming the step. */
export interface CellHelper {
  /** `changedRules` is the step when the rules are not the given ones; then nothing was made. */
  start(plan: StartPlan): Promise<Started>;
  /** Puts a root together, writes through the map and says who owns the file on disk. */
  probe(root: RootPlan): Promise<{ readonly ownerOnDisk: number }>;
}

export const changedRules = "rules";

/** The step at which a root that cannot be written is refused. What was mounted by then is gone with the helper's own namespace. */
export const refusedRoot = "overlay";

export const createHelper = (options: {
  readonly service: HelperService;
  readonly runtime: string;
  readonly runtimeState: string;
}): CellHelper => ({
  start: async ({ root, trees = [], ...plan }) => {
    const { runtime, runtimeState } = options;
    const shown = treeMounts(trees).map(({ destination }) => destination.slice(1));
    const spec = { ...plan, trees, root: rootSpec(root, shown), runtime, runtime_state: runtimeState };
    return started.parse(await options.service.ask("start", spec));
  },
  probe: async (root) => ({
    ownerOnDisk: proven.parse(await options.service.ask("probe", rootSpec(root))).owner_on_disk,
  }),
});

const rootSpec = (root: RootPlan, shown: readonly string[] = []): object => ({
  bundle: root.bundle,
  image: root.image,
  volume: root.volume,
  agent: root.agent,
  first_id: root.firstId,
  id_count: root.idCount,
  ...mountTargets,
  directories: [...mountTargets.directories, ...shown],
});
