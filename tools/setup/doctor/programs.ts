import { join } from "node:path";
import process from "node:process";
import { z } from "zod";
import { controlLauncherMethods, layerView, socketPath, type StageView } from "@holdfast/contract";
import {
  lookUpUser,
  placesOf,
  plainEnvironment,
  plainText,
  supervisorFlags,
  tryCommand,
  userNames,
  type InstanceSettings,
  type ProgramStatus,
} from "@holdfast/launcher";
import { createRpcClient, systemClock } from "@holdfast/kit";
import type { Proof } from "./proof.ts";

/** Programs that are down or not ready, with where to look. */
export const provePrograms = (statuses: readonly ProgramStatus[], logs: string): readonly Proof[] =>
  statuses.map(({ name, pid, ready, detail }) => ({
    name: `program ${name}`,
    proven: ready,
    detail: ready ? `pid ${pid}` : detail,
    remedy: ready ? "" : `See ${logs}/${name}.log; \`holdfast up\` starts what is down.`,
  }));

/**
 * The supervisor's own proofs of each layer of a cell: trials on this host, not version checks. Run beside it with the same flags, so that
 * they are there when it refuses to start because of one.
 */
export const proveLayers = async (settings: InstanceSettings): Promise<readonly Proof[]> => {
  const places = placesOf(settings.instance, settings.data);
  const program = join(places.tree, "packages/supervisor/src/doctor.ts");
  const flags = supervisorFlags(settings, places, {
    control: await lookUpUser(userNames.control),
    gateway: settings.projects && (await lookUpUser(userNames.gateway)),
  });
  const { stdout, stderr } = await tryCommand([process.execPath, program, ...flags], {
    environment: { ...plainEnvironment, NODE_NO_WARNINGS: "1" },
  });
  try {
    const { layers } = z.object({ layers: z.array(layerView) }).parse(JSON.parse(stdout));
    return layers.map((layer) => ({
      ...layer,
      name: `layer ${layer.name}`,
      remedy: layer.proven ? "" : layer.remedy,
    }));
  } catch {
    const detail = stderr.trim().split("\n").at(-1) || "the trials gave no result";
    return [
      {
        name: "layers of a cell",
        proven: false,
        detail,
        remedy: "Run `holdfast up` first, then this again.",
      },
    ];
  }
};

/** Which stages of dispatch stand open because nothing that could refuse is behind them. For information: an open stage is no fault. */
export const readStages = async (settings: InstanceSettings): Promise<readonly StageView[]> => {
  const client = createRpcClient({
    path: socketPath(settings.instance, "control", "launcher"),
    methods: controlLauncherMethods,
    clock: systemClock,
    timeoutMs: 5000,
  });
  try {
    const { stages } = await client.call("stages", {});
    return stages.map(({ name, filled, detail }) => ({
      name: plainText(name),
      filled,
      detail: plainText(detail),
    }));
  } catch {
    return [];
  } finally {
    client.close();
  }
};
