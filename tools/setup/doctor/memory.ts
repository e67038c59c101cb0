import { readFile } from "node:fs/promises";
import { socketPath, type SupervisorLauncherMethods, supervisorLauncherMethods } from "@holdfast/contract";
import { warmCells, type InstanceSettings, type ProgramStatus } from "@holdfast/launcher";
import { createRpcClient, type RpcClient, systemClock } from "@holdfast/kit";
import { prove, type Proof } from "./proof.ts";

const gibibyte = 1024 ** 3;

/** What the host has for computers, and what it offers when that becomes scarce. */
export const proveMemory = async (
  settings: InstanceSettings,
  statuses: readonly ProgramStatus[],
): Promise<readonly Proof[]> => {
  const client = createRpcClient({
    path: socketPath(settings.instance, "supervisor", "launcher"),
    methods: supervisorLauncherMethods,
    clock: systemClock,
    timeoutMs: 5000,
  });
  const remedy =
    "Computers sleep and are stopped by themselves until there is room; stop some, or give the host more memory.";
  try {
    return [
      await prove("memory", remedy, () => describeMemory(client)),
      await prove("out of memory", "See supervisor.log and control.log.", () => describeOrder(statuses)),
      await prove("warm computers", "", async () => describeWarm(settings)),
    ];
  } finally {
    client.close();
  }
};

const describeMemory = async (client: RpcClient<SupervisorLauncherMethods>): Promise<string> => {
  const { memory } = await client.call("info", {});
  const of = (bytes: number): string => (bytes / gibibyte).toFixed(1);
  const kept = `${of(memory.available_bytes)} of ${of(memory.total_bytes)} GiB are available, ${of(memory.reserve_bytes)} are kept for the host`;
  if (memory.available_bytes < memory.reserve_bytes) throw new Error(`${kept}: no computer can start`);
  const taken = memory.reclaims
    ? "what sleeping computers cache is taken back"
    : "sleeping computers keep theirs";
  const told = (await tellsPressure()) ? "tells" : "does not tell";
  return `${kept}; ${taken}; the kernel ${told} how long programs wait for memory`;
};

/** Whether it counts how long programs wait for memory. */
const tellsPressure = (): Promise<boolean> =>
  readFile("/proc/pressure/memory", "utf8").then(
    (text) => text.startsWith("some "),
    () => false,
  );

/** Cells start out at 500: see `native/agent/src/host/cell/runtime.rs`. */
const cellScore = 500;

const describeOrder = async (statuses: readonly ProgramStatus[]): Promise<string> => {
  const scores = await Promise.all(
    statuses.flatMap(({ pid, name }) =>
      pid === null
        ? []
        : [readFile(`/proc/${pid}/oom_score_adj`, "utf8").then((text) => ({ name, score: Number(text) }))],
    ),
  );
  const late = scores.filter(({ score }) => score >= cellScore);
  if (late.length > 0) throw new Error(`${late.map(({ name }) => name).join(", ")} would go before cells`);
  return scores.every(({ score }) => score < 0)
    ? "cells go first; our programs and Postgres are spared"
    : "cells go first; the host spares nobody (CAP_SYS_RESOURCE is missing), so our programs and Postgres count by their size";
};

const describeWarm = (settings: InstanceSettings): string => {
  const count = warmCells(settings);
  const whose = settings.warm === undefined ? "as this host has room for" : "as --warm says";
  return count === 0 ? `none are kept started, ${whose}` : `${count} are kept started, ${whose}`;
};
