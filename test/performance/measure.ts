import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Instance } from "../support/instance.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { idleMemory } from "./subjects/memory.ts";
import { create, exec, flood, ownSpawn, transfer } from "./subjects/holdfast.ts";
import { startPeers } from "./subjects/peers-client.ts";
import { interleave, repeat, type Subject, summarize, type Summary } from "./statistics.ts";

export interface Results {
  readonly notRun: Readonly<Record<string, string | null>>;
  /** Milliseconds. */
  readonly latency: Readonly<Record<string, Latency>>;
  readonly transfer: { readonly megabytes: number; readonly up: Summary; readonly down: Summary };
  readonly floodMegabytes: number;
  readonly agentBinaryBytes: number;
  readonly memory: Awaited<ReturnType<typeof idleMemory>>;
  readonly raw: unknown;
}

export interface Latency {
  /** After the pause of the others' turns. */
  readonly paused: Summary;
  /** One after the other. */
  readonly busy: Summary;
}

/** Runs in a row of each subject in each round. */
const burst = 5;

/** Everything the bench measures, on a running instance. The peers run on the same image in the same rounds. */
export const measure = async (
  instance: Instance,
  options: { readonly rounds: number; readonly idleComputers: number; readonly imageArchive: string },
): Promise<Results> => {
  const { client } = await instance.assistant({ computers: 1000, largest_size: "large" });
  const box = await client.computers.create({ name: "bench" });
  const directory = temporaryDirectory("bench");
  const peers = await startPeers({
    directory: directory.path,
    imageArchive: options.imageArchive,
    cell: `/run/holdfast/${instance.name}/supervisor-state/bundles/${box.id}`,
  });
  const asPeer = (name: string): Subject => ({ name, run: repeat(() => peers.time(name)) });
  const ran = (peer: "crun" | "podman", verb: string): Subject[] =>
    peers.notRun[peer] === null ? [asPeer(`${peer} ${verb}`)] : [];
  try {
    const subjects: readonly Subject[] = [
      { name: "holdfast exec", run: repeat(exec(client, box.id)) },
      { name: "cell's own spawn", run: await ownSpawn(client, box.id) },
      asPeer("host spawn"),
      ...ran("crun", "exec"),
      ...ran("podman", "exec"),
      { name: "holdfast create", run: repeat(create(client)) },
      ...ran("crun", "run"),
      ...ran("podman", "run"),
    ];
    await interleave(subjects, { rounds: 1, burst });
    const samples = await interleave(subjects, { rounds: options.rounds, burst });

    const bytes = 256 * 1024 * 1024;
    const transfers = [];
    for (let round = 0; round < 5; round += 1) transfers.push(await transfer(client, box.id, bytes));

    const { control } = await instance.programs();
    const floodMegabytes = await flood(client, box.id, control?.pid ?? 0, 10);
    return {
      notRun: peers.notRun,
      latency: Object.fromEntries(
        Object.entries(samples).map(([name, { paused, busy }]) => [
          name,
          { paused: summarize(paused), busy: summarize(busy) },
        ]),
      ),
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
    directory.remove();
  }
};

const agentOf = async (instance: Instance): Promise<string> => {
  const settings = JSON.parse(await readFile(join(instance.data, "instance.json"), "utf8")) as {
    readonly agent: string;
  };
  return settings.agent;
};
