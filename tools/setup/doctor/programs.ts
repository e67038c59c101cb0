import {
  controlLauncherMethods,
  socketPath,
  supervisorLauncherMethods,
  type StageView,
} from "@holdfast/contract";
import type { InstanceSettings, ProgramStatus } from "@holdfast/launcher";
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

/** The supervisor's own proofs of each layer of a cell. They are trials on this host, not version checks. */
export const proveLayers = async (settings: InstanceSettings): Promise<readonly Proof[]> => {
  const client = createRpcClient({
    path: socketPath(settings.instance, "supervisor", "launcher"),
    methods: supervisorLauncherMethods,
    clock: systemClock,
    timeoutMs: 30_000,
  });
  try {
    const { layers } = await client.call("info", {});
    return layers.map((layer) => ({
      ...layer,
      name: `layer ${layer.name}`,
      remedy: layer.proven ? "" : layer.remedy,
    }));
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return [
      {
        name: "layers of a cell",
        proven: false,
        detail,
        remedy: "The supervisor proves them: bring it up first.",
      },
    ];
  } finally {
    client.close();
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
    return (await client.call("stages", {})).stages;
  } catch {
    return [];
  } finally {
    client.close();
  }
};
