import type { Instance } from "../../support/instance.ts";
import { readMemory } from "../subjects/memory.ts";
import { newName } from "./starts.ts";
import { processorMs } from "./wakes.ts";

export interface Crowd {
  readonly sleeping: number;
  readonly stopped: number;
  /** Megabytes of each sleeping one: blank, and with a Node web service. */
  readonly blank: number;
  readonly served: number;
  /** Of one processor, percent, with all of them there. */
  readonly controlIdle: number;
}

const atOnce = 8;
const server = 'require("http").createServer((q, s) => s.end("here")).listen(8080, "127.0.0.1")';

/** What many that sleep or are stopped cost. */
export const measureCrowd = async (
  instance: Instance,
  options: { readonly sleeping: number; readonly stopped: number; readonly seconds: number },
): Promise<Crowd> => {
  // Two assistants: each may have a thousand.
  const [sleepers, stoppers] = [
    (await instance.assistant({ computers: 1000 })).client,
    (await instance.assistant({ computers: 1000 })).client,
  ];
  const made: (() => Promise<unknown>)[] = [];
  const make = (
    client: typeof sleepers,
    count: number,
    then: (computer: string) => Promise<unknown>,
  ): Promise<void> =>
    inTurns(count, async () => {
      const computer = newName();
      await client.computers.create({ name: computer });
      made.push(() => client.computers.destroy({ computer }));
      await then(computer);
    });
  const sleep = (computer: string) => sleepers.computers.sleep({ computer });
  const grown = async (count: number, work: () => Promise<void>): Promise<number> => {
    const before = await readMemory(instance);
    await work();
    const after = await readMemory(instance);
    return count === 0 ? 0 : (after.cells + after.kernel - before.cells - before.kernel) / count;
  };
  const half = Math.floor(options.sleeping / 2);
  const blank = await grown(half, () => make(sleepers, half, sleep));
  const served = await grown(half, () =>
    make(sleepers, half, async (computer) => {
      await sleepers.services.create({ computer, name: "web", argv: ["node", "-e", server], port: 8080 });
      await sleep(computer);
    }),
  );
  await make(stoppers, options.stopped, (computer) => stoppers.computers.stop({ computer }));
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const pid = (await instance.programs())["control"]?.pid ?? 0;
  const before = await processorMs(pid);
  await new Promise((resolve) => setTimeout(resolve, options.seconds * 1000));
  const controlIdle = ((await processorMs(pid)) - before) / options.seconds / 10;
  await inTurns(made.length, async () => made.pop()?.());
  return { sleeping: 2 * half, stopped: options.stopped, blank, served, controlIdle };
};

export const inTurns = async (count: number, work: () => Promise<unknown>): Promise<void> => {
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
};
