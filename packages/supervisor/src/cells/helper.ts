import { HoldfastError } from "@holdfast/contract";
import { z } from "zod";
import type { CgroupPlaces } from "../cgroups/index.ts";
import type { ProgramRunner } from "../lib/run-program.ts";
import type { LinkPlan } from "../network/index.ts";
import { mountTargets } from "./oci-config.ts";

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
  readonly link: LinkPlan;
}

const failure = z.object({ error: z.object({ step: z.string(), message: z.string() }) });
const started = z.object({
  pid: z.number().int().positive(),
  timings_us: z.array(z.tuple([z.string(), z.number()])),
});
const proven = z.object({ owner_on_disk: z.number().int() });

export type Started = z.output<typeof started>;

/** `holdfast-agent host cell`: the system calls that Node lacks. Rejects with `computer_failed` naming the step. */
export interface CellHelper {
  start(plan: StartPlan): Promise<Started>;
  /** Puts a root together, writes through the map and says who owns the file on disk. */
  probe(root: RootPlan): Promise<{ readonly ownerOnDisk: number }>;
}

export const createHelper = (options: {
  readonly runner: ProgramRunner;
  readonly agent: string;
  readonly runtime: string;
  readonly runtimeState: string;
  readonly timeoutMs: number;
}): CellHelper => {
  const ask = async <T extends z.ZodType>(verb: string, spec: object, schema: T): Promise<z.output<T>> => {
    const { status, signal, stdout, stderr } = await options.runner.outcome(
      options.agent,
      ["host", "cell", verb],
      {
        input: JSON.stringify(spec),
        timeoutMs: options.timeoutMs,
      },
    );
    const reply: unknown = stdout.trim() === "" ? {} : JSON.parse(stdout);
    if (status === 0) return schema.parse(reply);
    const said = failure.safeParse(reply);
    const { step, message } = said.success
      ? said.data.error
      : { step: verb, message: stderr.trim() || `the helper ended with ${signal ?? `status ${status}`}` };
    throw new HoldfastError("computer_failed", `the cell could not be made: ${step}: ${message}`, {
      reason: "start",
      step,
    });
  };
  return {
    start: ({ id, root, sockets, cgroups, link }) =>
      ask(
        "start",
        {
          id,
          runtime: options.runtime,
          runtime_state: options.runtimeState,
          root: rootSpec(root),
          sockets,
          cgroups,
          link: { ...link, ip: "ip" },
        },
        started,
      ),
    probe: async (root) => ({ ownerOnDisk: (await ask("probe", rootSpec(root), proven)).owner_on_disk }),
  };
};

const rootSpec = (root: RootPlan): object => ({
  bundle: root.bundle,
  image: root.image,
  volume: root.volume,
  agent: root.agent,
  first_id: root.firstId,
  id_count: root.idCount,
  ...mountTargets,
});
