import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { HoldfastClient } from "@holdfast/sdk";
import { type Subject, timed } from "../statistics.ts";

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

/**
 * What a spawn costs inside the cell without us: posix_spawn and wait, by a program that runs there, told how many by a line on its
 * standard input. So its first one comes after a pause as everybody's does.
 */
export const ownSpawn = async (client: HoldfastClient, computer: string): Promise<Subject["run"]> => {
  const started = await client.processes.start({
    computer,
    argv: ["python3", "-c", spawner],
    stdin_open: true,
  });
  const process = started.id;
  let cursor = 0;
  return async (count) => {
    await client.processes.input({ computer, process, text: `${count}\n` });
    let line = "";
    while (!line.endsWith("\n")) {
      const page = await client.processes.output({ computer, process, cursor, wait_ms: 10_000 });
      if (page.ended) throw new Error("the spawner ended");
      line += page.stdout;
      cursor = page.next_cursor;
    }
    return JSON.parse(line) as number[];
  };
};

const spawner = `
import json, os, sys, time
for line in sys.stdin:
    samples = []
    for _ in range(int(line)):
        since = time.perf_counter()
        child = os.posix_spawn("/bin/true", ["true"], {})
        os.waitpid(child, 0)
        samples.append((time.perf_counter() - since) * 1000)
    print(json.dumps(samples), flush=True)
`;

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
