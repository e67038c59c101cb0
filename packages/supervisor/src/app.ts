import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { limits, type LayerView } from "@holdfast/contract";
import { createCrashPoint, createIds, type Clock, type Logger } from "@holdfast/kit";
import { createAdmission, readHostMemory } from "./cells/admission.ts";
import { namesOnHost } from "./cells/adopt.ts";
import { createBundles } from "./cells/bundle.ts";
import { createEvents } from "./cells/events.ts";
import { createHelper } from "./cells/helper.ts";
import { openCells } from "./cells/index.ts";
import { digestOf, readPolicy, type Policy } from "./cells/policy.ts";
import { createRecords } from "./cells/records.ts";
import { createTakeDown } from "./cells/take-down.ts";
import { openCgroups } from "./cgroups/index.ts";
import type { Serving } from "./handlers.ts";
import { createImages } from "./images/index.ts";
import { cellLayer } from "./layers/cell.ts";
import { cgroupsLayer } from "./layers/cgroups.ts";
import { proveLayers, type Layer } from "./layers/index.ts";
import { networkLayer, networkTrialLayer } from "./layers/network.ts";
import { policyLayer } from "./layers/policy.ts";
import { poolLayer } from "./layers/pool.ts";
import { rootLayer } from "./layers/root.ts";
import { runtimeLayer } from "./layers/runtime.ts";
import type { Config } from "./lib/config.ts";
import { makeDirectory } from "./lib/files.ts";
import { createHelperService } from "./lib/helper-service.ts";
import { placesOf } from "./lib/places.ts";
import { createProgramRunner } from "./lib/run-program.ts";
import { createNetwork, type Network } from "./network/index.ts";
import { createBtrfs } from "./volumes/btrfs.ts";
import { openVolumes } from "./volumes/index.ts";

/** Ids that trials use where a computer's would stand, so that `doctor` may run beside a supervisor. */
const trialIds = { serve: "cmp_00000000000000000000", doctor: "cmp_00000000000000000001" } as const;

export interface App {
  /** Tries each layer on the host. Leaves the namespace and the cgroups of the instance, nothing else. */
  prove(): Promise<LayerView[]>;
  /** Adopts what runs and serves. Only with every layer proven. */
  open(layers: readonly LayerView[]): Promise<Serving>;
  /**
   * Without serving: takes down every cell that is left of an earlier supervisor, found by its traces. Returns how many ran; throws, once it
   * has tried them all, when one cannot be.
   */
  takeDownAll(): Promise<number>;
  /** Without serving: freezes the cells of an earlier supervisor whose leases have ended by the wall clock. */
  endLeases(): Promise<void>;
  /** Takes away what the supervisor made on the host outside the pool, once no cell is left. */
  dispose(): Promise<void>;
}

/** Puts the supervisor together, without touching more than its own directories. */
export const createApp = async (options: {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** To serve, or only to prove the layers beside what may be serving. */
  readonly purpose: keyof typeof trialIds;
}): Promise<App> => {
  const { config, clock, logger, purpose } = options;
  const places = placesOf(config);
  let reading: Promise<Policy> | undefined;
  const policy = (): Promise<Policy> =>
    (reading ??= readPolicy(config.policy).catch((error: unknown) => {
      reading = undefined;
      throw error;
    }));
  const runner = createProgramRunner();
  const service = createHelperService({ agent: config.agent, timeoutMs: limits.cellStartMs });
  const btrfs = createBtrfs(runner, service);
  const images = createImages({ places, btrfs, clock });
  // The last range is the trials'.
  const slots = config.slots - 1;
  const firstIdOf = (slot: number): number => config.uidBase + slot * config.idsPerComputer;
  const networkOptions = { slots: config.slots, runner, service, clock, logger };
  const network = createNetwork({ ...networkOptions, places });
  const scratch = createNetwork({
    ...networkOptions,
    places: { namespace: `${places.namespace}-trial`, namespaceFile: `${places.namespaceFile}-trial` },
  });
  for (const directory of [places.state, `${places.state}/bundles`]) await makeDirectory(directory, 0o711);
  for (const directory of [places.runtimeState, `${places.state}/cells`])
    await makeDirectory(directory, 0o700);
  const bundles = createBundles({ places, policy, agent: config.agent });
  const records = createRecords({ places, directory: `${places.state}/cells`, logger });
  const helper = createHelper({ service, runtime: config.runtime, runtimeState: places.runtimeState });
  const openOwnCgroups = () => openCgroups({ directory: places.cgroup, clock });
  const trial = {
    trial: purpose,
    trialId: trialIds[purpose],
    firstId: firstIdOf(slots),
    idCount: config.idsPerComputer,
    agent: config.agent,
  };
  const withNetwork = async <T>(work: (used: Network) => Promise<T>): Promise<T> => {
    if (purpose === "serve") return work(network);
    try {
      await scratch.prepare();
      return await work(scratch);
    } finally {
      await scratch.dispose();
    }
  };
  const rootOptions = { places, btrfs, images, image: config.image, helper, bundles, ...trial };
  const layers: Layer[] = [
    policyLayer(config.policy, policy),
    runtimeLayer(runner, config.runtime),
    cgroupsLayer(openOwnCgroups, purpose),
    poolLayer({ pool: config.pool, places, btrfs, trial: purpose }),
    rootLayer(rootOptions),
    purpose === "serve" ? networkLayer(network) : networkTrialLayer(scratch, network),
    cellLayer({ ...rootOptions, policy, openCgroups: openOwnCgroups, withNetwork, clock, trialSlot: slots }),
  ];
  const bootId = config.bootId ?? (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();

  return {
    prove: () => proveLayers(layers),
    open: async (proven) => {
      const crashPoint = createCrashPoint(options.environment);
      const newId = createIds(clock);
      const events = createEvents(clock);
      const cgroups = await openOwnCgroups();
      await cgroups.prepare();
      const volumes = await openVolumes({
        places,
        pool: config.pool,
        btrfs,
        images,
        image: config.image,
        slots,
        logger,
        crashPoint,
      });
      const current = { image: config.image, policy: await digestOf(await policy(), config.agent) };
      const cells = await openCells({
        places,
        images,
        volumes,
        cgroups,
        network,
        bundles,
        helper,
        records,
        events,
        clock,
        newId,
        logger,
        crashPoint,
        agent: config.agent,
        firstIdOf,
        idCount: config.idsPerComputer,
        bootId,
        controlGid: config.controlGid,
        gatewayGid: config.gatewayGid,
        admission: createAdmission(readHostMemory),
        parallelStarts: Math.max(2, availableParallelism()),
        current,
      });
      const about = {
        version: "0.1.0",
        instance: config.instance,
        bootId,
        image: config.image,
        policy: current.policy,
        reclaims: await cgroups.reclaims(),
      };
      return { cells, volumes, events, layers: proven, readMemory: readHostMemory, about };
    },
    takeDownAll: async () => {
      const cgroups = await openOwnCgroups();
      const takeDown = createTakeDown({ places, cgroups, network, bundles });
      const known = new Map((await records.all()).map((record) => [record.computerId, record]));
      let ran = 0;
      const problems: unknown[] = [];
      for (const name of await namesOnHost({ places, cgroups }, known.keys()))
        try {
          if ((await cgroups.state(name))?.populated) ran += 1;
          await takeDown(name, known.get(name)?.slot);
          await records.remove(name);
        } catch (error) {
          problems.push(error);
        }
      if (problems.length > 0) throw problems[0];
      return ran;
    },
    endLeases: async () => {
      const cgroups = await openOwnCgroups();
      for (const { computerId, phase, leaseEndsAtMs } of await records.all()) {
        if (phase !== "running" || leaseEndsAtMs > clock.now()) continue;
        const state = await cgroups.state(computerId);
        if (!state?.populated || state.freezing) continue;
        logger.warn("the lease of a cell has ended while nobody could be asked for more", {
          computer_id: computerId,
        });
        await cgroups.freeze(computerId);
      }
    },
    dispose: async () => {
      await network.dispose();
      await (await openOwnCgroups()).dispose();
    },
  };
};
