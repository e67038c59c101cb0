import { mkdtemp, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Instance } from "../support/instance.ts";
import { idleMemory } from "./subjects/memory.ts";
import { create, exec, flood, ownSpawn, transfer } from "./subjects/holdfast.ts";
import { startPeers } from "./subjects/peers-client.ts";
import { interleave, summarize, type Summary } from "./statistics.ts";

export interface Results {
  readonly notRun: Readonly<Record<string, string | null>>;
  /** Milliseconds. */
  readonly latency: Readonly<Record<string, Summary>>;
  readonly transfer: { readonly megabytes: number; readonly up: Summary; readonly down: Summary };
  readonly floodMegabytes: number;
  readonly agentBinaryBytes: number;
  readonly memory: Awaited<ReturnType<typeof idleMemory>>;
  readonly raw: unknown;
}

/** Everything the bench measures, on a running instance. The peers run on the same image in the same rounds. */
export const measure = async (
  instance: Instance,
  options: { readonly rounds: number; readonly idleComputers: number; readonly imageArchive: string },
): Promise<Results> => {
  const { client } = await instance.assistant({ computers: 1000, largest_size: "large" });
  const box = await client.computers.create({ name: "bench" });
  const peers = await startPeers(await mkdtemp(join(tmpdir(), "hf-bench-")), options.imageArchive);
  try {
    const subjects = [
      { name: "holdfast exec", run: exec(client, box.id) },
      { name: "cell's own spawn", run: ownSpawn(client, box.id) },
      { name: "host spawn", run: () => peers.time("spawn") },
      ...(peers.notRun.crun === null ? ["crun exec"] : []).map(asPeer),
      ...(peers.notRun.podman === null ? ["podman exec"] : []).map(asPeer),
      { name: "holdfast create", run: create(client) },
      ...(peers.notRun.crun === null ? ["crun run"] : []).map(asPeer),
      ...(peers.notRun.podman === null ? ["podman run"] : []).map(asPeer),
    ];
    function asPeer(name: string): { name: string; run: () => Promise<number> } {
      return { name, run: () => peers.time(name) };
    }
    await interleave(subjects, 2);
    const samples = await interleave(subjects, options.rounds);

    const bytes = 256 * 1024 * 1024;
    const transfers = [];
    for (let round = 0; round < 5; round += 1) transfers.push(await transfer(client, box.id, bytes));

    const { control } = await instance.programs();
    const floodMegabytes = await flood(client, box.id, control?.pid ?? 0, 10);
    return {
      notRun: peers.notRun,
      latency: Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, summarize(values)])),
      transfer: {
        megabytes: bytes / 1e6,
        up: summarize(transfers.map(({ up }) => up)),
        down: summarize(transfers.map(({ down }) => down)),
      },
      floodMegabytes,
      agentBinaryBytes: (await stat(await agentOf(instance))).size,
      memory: await idleMemory(instance, client, options.idleComputers),
      raw: { samples, transfers },
    };
  } finally {
    await peers.close();
  }
};

const agentOf = async (instance: Instance): Promise<string> => {
  const settings = JSON.parse(await readFile(join(instance.data, "instance.json"), "utf8")) as {
    readonly agent: string;
  };
  return settings.agent;
};
