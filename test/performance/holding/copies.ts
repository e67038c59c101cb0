import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { socketPath, supervisorMethods } from "@holdfast/contract";
import { createIds, createRpcClient, systemClock } from "@holdfast/kit";
import { createComputer, run } from "../../support/computer.ts";
import type { Assistant, Instance } from "../../support/instance.ts";
import { startWriter } from "../../support/sqlite.ts";
import { summarize, type Summary, timed } from "../statistics.ts";

export interface Copies {
  /** By megabytes on the disk; milliseconds. */
  readonly sizes: Readonly<Record<string, Copied>>;
  /** Of a SQLite writer at full speed: its slowest commit around each snapshot. */
  readonly stall: Summary;
  /** Its slowest commit in as long a time without one. */
  readonly undisturbed: Summary;
}

export interface Copied {
  /** `btrfs subvolume snapshot -r` by hand, synced before. */
  readonly raw: Summary;
  /** `snapshot.create` as a caller sees it, without the sync; and that. */
  readonly snapshot: Summary;
  readonly sync: Summary;
  /** `volume.fork` as control sees it. */
  readonly fork: Summary;
  /** A fork as a caller sees it: taken of the live computer, to its first result. */
  readonly forkToResult: Summary;
}

const sizes = [10, 1000] as const;

export const measureCopies = async (
  instance: Instance,
  assistant: Assistant,
  options: { readonly rounds: number; readonly snapshots: number },
): Promise<Copies> => {
  const measured: Record<string, Copied> = {};
  for (const megabytes of sizes)
    measured[String(megabytes)] = await copiesOf(instance, assistant, megabytes, options.rounds);
  return { sizes: measured, ...(await stalls(assistant, options.snapshots)) };
};

const copiesOf = async (
  instance: Instance,
  assistant: Assistant,
  megabytes: number,
  rounds: number,
): Promise<Copied> => {
  const { client } = assistant;
  const pool = join(instance.data, "pool/fs");
  const computer = await createComputer(assistant);
  await run(
    assistant,
    computer,
    `for i in $(seq ${megabytes / 10}); do head -c 10M /dev/urandom > /work/part$i; done; sync`,
  );
  const supervisor = createRpcClient({
    path: socketPath(instance.name, "supervisor", "control"),
    methods: supervisorMethods,
    clock: systemClock,
    timeoutMs: 60_000,
  });
  const newId = createIds(systemClock);
  const raws = join(pool, "bench-raw");
  await mkdir(raws, { recursive: true });
  const btrfs = (...argv: readonly string[]) => promisify(execFile)("btrfs", [...argv]);
  const samples = {
    raw: [] as number[],
    snapshot: [] as number[],
    sync: [] as number[],
    fork: [] as number[],
  };
  const results: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      // Something to write out each time, as on a computer that works.
      await run(assistant, computer, "head -c 1M /dev/urandom > /work/changed");
      await btrfs("filesystem", "sync", pool);
      const raw = join(raws, `n${round}`);
      samples.raw.push(
        await timed(() =>
          btrfs("subvolume", "snapshot", "-r", join(pool, "supervisor/computers", computer), raw),
        ),
      );
      await btrfs("subvolume", "delete", raw);

      await run(assistant, computer, "head -c 1M /dev/urandom > /work/changed");
      const begin = performance.now();
      const { id, sync_ms } = await client.snapshots.create({ computer, name: `n${round}` });
      samples.snapshot.push(performance.now() - begin - sync_ms);
      samples.sync.push(sync_ms);

      const computer_id = newId("computer");
      samples.fork.push(
        await timed(() => supervisor.call("volume.fork", { computer_id, size: "small", snapshot_id: id })),
      );
      await supervisor.call("volume.destroy", { computer_id });
      await client.snapshots.delete({ computer, snapshot: id });

      const name = `fork-x${round}-of-x${megabytes}`;
      results.push(
        await timed(async () => {
          await client.computers.fork({ computer, name });
          await client.processes.exec({ computer: name, argv: ["/bin/true"] });
        }),
      );
      await client.computers.destroy({ computer: name });
    }
  } finally {
    supervisor.close();
    await promisify(execFile)("rmdir", [raws]).catch(() => undefined);
    await client.computers.destroy({ computer });
  }
  return {
    raw: summarize(samples.raw),
    snapshot: summarize(samples.snapshot),
    sync: summarize(samples.sync),
    fork: summarize(samples.fork),
    forkToResult: summarize(results),
  };
};

const stalls = async (
  assistant: Assistant,
  count: number,
): Promise<{ readonly stall: Summary; readonly undisturbed: Summary }> => {
  const { client } = assistant;
  const computer = await createComputer(assistant, { size: "medium" });
  const writer = await startWriter(assistant, computer, "wal", { times: true });
  await writer.untilAt(50);
  const windows: { readonly begin: number; readonly end: number }[] = [];
  for (let taken = 0; taken < count; taken += 1) {
    const begin = Date.now();
    const { id } = await client.snapshots.create({ computer });
    windows.push({ begin, end: Date.now() });
    await client.snapshots.delete({ computer, snapshot: id });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await writer.stop();
  const { stdout } = await run(assistant, computer, "cat /work/times", { max_output_bytes: 1024 * 1024 });
  await client.computers.destroy({ computer });
  const commits = stdout.trim().split("\n").map(Number);
  const slowest = (begin: number, end: number): number => {
    let most = 0;
    for (const [index, at] of commits.entries()) {
      const before = commits[index - 1];
      if (before !== undefined && at >= begin && before <= end) most = Math.max(most, at - before);
    }
    return most;
  };
  const first = commits[0] ?? 0;
  const seen = windows.filter(({ begin }) => begin >= first);
  return {
    stall: summarize(seen.map(({ begin, end }) => slowest(begin, end))),
    undisturbed: summarize(seen.map(({ begin, end }) => slowest(end + 100, end + 100 + (end - begin)))),
  };
};
