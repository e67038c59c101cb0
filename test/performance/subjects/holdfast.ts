import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { HoldfastClient } from "@holdfast/sdk";
import { timed } from "../statistics.ts";

/** A run of `true` in a computer that is awake, over REST. */
export const exec = (client: HoldfastClient, computer: string) => (): Promise<number> =>
  timed(async () => {
    const { process } = await client.processes.exec({ computer, argv: ["/bin/true"] });
    if (process.exit_code !== 0) throw new Error(`true ended with ${process.exit_code}`);
  });

/** From nothing to the first result: create a computer and run `true` on it. It is destroyed outside of the time. */
export const create = (client: HoldfastClient) => async (): Promise<number> => {
  const name = `bench-${randomBytes(4).toString("hex")}`.replaceAll(/-(\d)/g, "-x$1");
  const milliseconds = await timed(async () => {
    await client.computers.create({ name });
    await client.processes.exec({ computer: name, argv: ["/bin/true"] });
  });
  await client.computers.destroy({ computer: name });
  return milliseconds;
};

/** What a spawn costs inside the cell without us: posix_spawn and wait, by a program that runs there. Median of 50, milliseconds. */
export const ownSpawn = (client: HoldfastClient, computer: string) => async (): Promise<number> => {
  const program =
    "import os,time\nr=[]\nfor i in range(50):\n t=time.perf_counter(); p=os.posix_spawn('/bin/true',['true'],{}); os.waitpid(p,0); r.append(time.perf_counter()-t)\nprint(sorted(r)[25]*1000)";
  const { stdout } = await client.processes.exec({ computer, argv: ["python3", "-c", program] });
  return Number(stdout);
};

/** MB/s of a file of `bytes`, up and then down. */
export const transfer = async (client: HoldfastClient, computer: string, bytes: number) => {
  const content = new Uint8Array(randomBytes(1024 * 1024));
  const source = (): ReadableStream<Uint8Array> => {
    let sent = 0;
    return new ReadableStream(
      {
        pull: (controller) => {
          if (sent >= bytes) return controller.close();
          sent += content.length;
          controller.enqueue(content);
        },
      },
      { highWaterMark: 1 },
    );
  };
  const path = "/work/transfer.bin";
  const upMs = await timed(() => client.files.upload({ computer, path }, source()));
  let received = 0;
  const downMs = await timed(async () => {
    const { stream } = await client.files.download({ computer, path });
    for await (const chunk of stream) received += chunk.length;
  });
  if (received !== bytes) throw new Error(`${received} of ${bytes} bytes came back`);
  await client.files.delete({ computer, path });
  return { up: bytes / 1e3 / upMs, down: bytes / 1e3 / downMs };
};

/** `yes` into an exec for `seconds`; how far the resident memory of `pid` moves, MB. */
export const flood = async (
  client: HoldfastClient,
  computer: string,
  pid: number,
  seconds: number,
): Promise<number> => {
  const before = await residentMegabytes(pid);
  let most = before;
  let running = true;
  const watch = (async () => {
    while (running) {
      most = Math.max(most, await residentMegabytes(pid));
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  await client.processes.exec({ computer, command: "yes", timeout_ms: seconds * 1000, wait_ms: 50_000 });
  running = false;
  await watch;
  return most - before;
};

export const residentMegabytes = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
};

export const proportionalMegabytes = async (pid: number): Promise<number> => {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
};
