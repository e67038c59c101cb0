import assert from "node:assert/strict";
import { readlink, stat, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { limits } from "@holdfast/contract";
import { createComputer, pidsOf, run } from "../support/computer.ts";
import { residentBytes } from "../support/memory.ts";
import { hangMs, until } from "../support/until.ts";
import type { Assistant } from "../support/instance.ts";
import { useComputer } from "../support/use.ts";

const { instance, assistant, computer: neighbour } = await useComputer();

/** Throws when the neighbour, who must notice nothing, is not answered as long as something lasts. */
const neighbourAnswers = async (): Promise<void> => {
  const begin = performance.now();
  assert.equal((await run(assistant, neighbour, "echo here")).stdout, "here\n");
  assert.ok(performance.now() - begin < hangMs, "the neighbour had to wait");
};

const staysWithinLimits = async (computer: string): Promise<void> => {
  const usage = await assistant.client.computers.usage({ computer });
  assert.ok(usage.processes <= usage.processes_limit, JSON.stringify(usage));
  assert.ok(usage.memory_bytes <= usage.memory_limit_bytes, JSON.stringify(usage));
};

/** 5 s on a host of its own; here others use the machine. Who waits for processes that do not end by themselves takes longer. */
const stopWithinMs = limits.stopGraceMs - 1000;

/** Stops a computer that is full of processes. Throws when one is left, or when it had to be waited out. */
const stopsSoon = async (context: Pick<TestContext, "diagnostic">, computer: string): Promise<void> => {
  const begin = performance.now();
  assert.equal((await assistant.client.computers.stop({ computer })).state, "stopped");
  const tookMs = Math.round(performance.now() - begin);
  context.diagnostic(`stop took ${tookMs} ms`);
  await until("no process is left", async () => (await pidsOf(computer)).length === 0, { withinMs: 5000 });
  assert.ok(tookMs < stopWithinMs, `stop took ${tookMs} ms`);
};

test("83: a fork bomb ends at the limit of processes, the neighbour goes on, and stop works soon", async (context) => {
  const computer = await createComputer(assistant);
  await assistant.client.processes.start({ computer, command: "b() { b | b & }; b; sleep 100" });
  await until(
    "the limit is reached",
    async () => (await assistant.client.computers.usage({ computer })).processes > 400,
    { withinMs: 20_000 },
  );
  await neighbourAnswers();
  await staysWithinLimits(computer);
  await stopsSoon(context, computer);
  assert.equal((await run(assistant, computer, "echo again")).stdout, "again\n");
});

test("83: a fork bomb whose processes fill the memory ends inside the cell, and stop works soon", async (context) => {
  const computer = await createComputer(assistant);
  await assistant.client.processes.start({
    computer,
    argv: [
      "python3",
      "-c",
      "import os\nwhile True:\n try:\n  if os.fork() == 0: held = bytearray(32 << 20)\n except OSError: pass",
    ],
  });
  await until(
    "the kernel kills for memory",
    async () => (await assistant.client.computers.usage({ computer })).out_of_memory_kills > 0,
    { withinMs: 30_000 },
  );
  await neighbourAnswers();
  await staysWithinLimits(computer);
  await stopsSoon(context, computer);
});

test("84: memory ends inside the cell: by heap, by /dev/shm, by /tmp; it is counted and told", async () => {
  const computer = await createComputer(assistant);
  const hog = await run(
    assistant,
    computer,
    "exec python3 -c 'x = [bytearray(1 << 20) for _ in range(4096)]'",
  );
  assert.equal(hog.process.exit_code, 137);
  assert.equal(hog.process.out_of_memory, true);
  await told(assistant, hog.process.id);
  assert.ok((await assistant.client.computers.usage({ computer })).out_of_memory_kills >= 1);
  // Which process ends is the kernel's choice; the files stay until they are deleted, and that must be possible.
  await run(assistant, computer, "head -c 4G /dev/zero > /dev/shm/fill");
  await until("what fills the memory can be deleted", async () => {
    return (await run(assistant, computer, "exec rm -f /dev/shm/fill")).process.exit_code === 0;
  });
  await neighbourAnswers();
  assert.equal((await run(assistant, computer, "echo alive")).stdout, "alive\n");
});

test("85: a full disk refuses writes inside; list, delete and exec still work and free it; the database still writes", async () => {
  const computer = await createComputer(assistant);
  const fill = await run(assistant, computer, "head -c 6G /dev/zero > /work/fill");
  assert.equal(fill.process.exit_code, 1);
  assert.match(
    await codeOf(
      assistant.client.files.write({ computer, path: "/work/more", content: "x".repeat(2_000_000) }),
    ),
    /^disk_full$/,
  );
  assert.equal(
    (await assistant.client.files.list({ computer, path: "/work" })).entries.some(({ path }) =>
      path.endsWith("fill"),
    ),
    true,
  );
  // Who has to free the space sees what is there: the agent holds in memory what the disk does not take, up to a bound.
  const look = await run(assistant, computer, "df /work && ls /work | grep fill && exit 3");
  assert.deepEqual([look.process.exit_code, look.truncated_bytes], [3, 0], JSON.stringify(look));
  assert.match(look.stdout, /^Filesystem[^]*\nfill\n$/);
  const flood = await run(assistant, computer, "head -c 300000 /dev/zero | tr '\\0' x");
  assert.equal(flood.process.exit_code, 0);
  assert.ok(flood.stdout.length > 10_000, `${flood.stdout.length} bytes`);
  assert.ok(flood.truncated_bytes > 100_000, `${flood.truncated_bytes} truncated`);
  assert.equal((await assistant.client.files.delete({ computer, path: "/work/fill" })).deleted, 1);
  await until(
    "the space is free again",
    async () =>
      (await codeOf(
        assistant.client.files.write({ computer, path: "/work/more", content: "x".repeat(2_000_000) }),
      )) === "ok",
    { withinMs: 40_000 },
  );
  assert.equal((await run(assistant, computer, "wc -c < /work/more")).stdout, "2000000\n");
  await neighbourAnswers();
});

test("85: every block of the pool is there beforehand, so that a full host cannot take one away", async () => {
  const { blocks, size } = await stat(join(instance.data, "pool.img"));
  assert.ok(blocks * 512 >= size, `${blocks * 512} of ${size} bytes have blocks`);
  assert.ok((await statfs(join(instance.data, "pool/fs"))).bavail > 0);
});

/** Followers of events learn that the process ended for want of memory. */
const told = async ({ client }: Assistant, process: string): Promise<void> => {
  const enough = AbortSignal.timeout(20_000);
  for await (const event of client.events.stream({ after: 0 }, { signal: enough })) {
    if (event.kind !== "process.ended" || event.target !== process) continue;
    assert.equal(event.data["out_of_memory"], true);
    return;
  }
  assert.fail("no event tells of it");
};

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: { code?: string }) => error.code ?? "no code",
  );

test("86: endless output and a gigabyte without a newline: memory of every program stays flat, output is capped and says so", async () => {
  const computer = await createComputer(assistant);
  const pid = (await instance.programs())["control"]?.pid;
  assert.ok(pid);
  await run(assistant, computer, "yes | head -c 30000000 > /dev/null");
  const before = await residentBytes(pid);
  const yes = await assistant.client.processes.exec({
    computer,
    command: "yes",
    timeout_ms: 5000,
    wait_ms: 20_000,
  });
  assert.equal(yes.process.timed_out, true);
  assert.ok(yes.more && yes.process.dropped_bytes > 0, JSON.stringify(yes.process));
  assert.ok(yes.stdout.length <= 64 * 1024);
  const line = await run(assistant, computer, "head -c 1G /dev/zero | tr '\\0' x");
  assert.equal(line.process.exit_code, 0);
  assert.equal(line.process.output_bytes, 1024 ** 3);
  assert.ok(line.process.dropped_bytes >= 1024 ** 3 - 16 * 1024 ** 2);
  const binary = await run(assistant, computer, "head -c 5000000 /dev/urandom");
  assert.ok(binary.stdout.includes("\ufffd"));
  const after = await residentBytes(pid);
  assert.ok(
    after - before < 64 * 1024 ** 2,
    `control grew by ${Math.round((after - before) / 1024 ** 2)} MiB`,
  );
  const [agent] = await pidsOf(computer);
  assert.ok((await residentBytes(Number(agent))) < 16 * 1024 ** 2, "the agent grew");
});

test("87: a client that stops reading a stream holds up nobody and makes nothing grow", async () => {
  const computer = await createComputer(assistant);
  const endless = await assistant.client.processes.start({ computer, command: "yes", timeout_ms: 120_000 });
  const pid = (await instance.programs())["control"]?.pid;
  assert.ok(pid);
  const stalled = Array.from({ length: 5 }, () => {
    const socket = connect(instance.port, "127.0.0.1");
    socket.write(
      `GET /v1/computers/${computer}/processes/${endless.id}/follow HTTP/1.1\r\nhost: 127.0.0.1:${instance.port}\r\nauthorization: Bearer ${assistant.secret}\r\n\r\n`,
    );
    socket.pause();
    return socket;
  });
  let read = 0;
  let before: number | undefined;
  const enough = new AbortController();
  for await (const event of assistant.client.processes.follow(
    { computer, process: endless.id },
    { signal: enough.signal },
  )) {
    if (event.type === "output") read += event.bytes.length;
    // What a busy control takes once is not growth.
    if (read > 25 * 1024 ** 2) before ??= await residentBytes(pid);
    if (read > 100 * 1024 ** 2) break;
  }
  assert.ok(read > 100 * 1024 ** 2 && before !== undefined);
  await neighbourAnswers();
  const grown = (await residentBytes(pid)) - before;
  stalled.forEach((socket) => socket.destroy());
  await assistant.client.processes.signal({ computer, process: endless.id, signal: "KILL" });
  assert.ok(grown < 64 * 1024 ** 2, `control grew by ${Math.round(grown / 1024 ** 2)} MiB`);
});

test("88: a timeout ends the whole tree: other sessions, double forks, ignored and stopped ones", async () => {
  const computer = await createComputer(assistant);
  const begin = performance.now();
  const result = await assistant.client.processes.exec({
    computer,
    timeout_ms: 1000,
    wait_ms: 20_000,
    command: `trap '' TERM HUP INT
setsid sleep 987 &
( ( setsid sleep 987 & ) & )
(trap '' TERM; exec sleep 987) &
sleep 987 & kill -STOP $!
python3 -c 'import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.execvp("sleep", ["sleep", "987"])
    os._exit(0)'
sleep 60`,
  });
  assert.ok(performance.now() - begin < hangMs);
  assert.deepEqual([result.process.timed_out, result.process.exit_code], [true, 137]);
  await until(
    "none is left",
    async () => (await run(assistant, computer, "pgrep -c -x sleep; true")).stdout === "0\n",
    { withinMs: 5000 },
  );
  // The agent, and the child that it keeps ready for the next command; one that ends just now has no program any more.
  const left = await Promise.all(
    (await pidsOf(computer)).map((pid) => readlink(`/proc/${pid}/exe`).catch(() => undefined)),
  );
  assert.deepEqual(new Set(left.filter((path) => path !== undefined)), new Set(["/.holdfast/agent"]));
  assert.equal((await run(assistant, computer, "echo next")).stdout, "next\n");
});

test("90: a flood into a service's log is capped, rotated and holds up nothing", async () => {
  const computer = await createComputer(assistant);
  await assistant.client.services.create({
    computer,
    name: "flood",
    command: "exec yes 'a line of the flood'",
    output_limit_bytes: 1024 * 1024,
    wait_ms: 2000,
  });
  await until(
    "the log has turned over",
    async () =>
      (await assistant.client.services.logs({ computer, service: "flood" })).truncated_bytes > 10 * 1024 ** 2,
    { withinMs: 30_000 },
  );
  const size = await run(assistant, computer, "du -sk /var/lib/holdfast | cut -f1");
  assert.ok(Number(size.stdout) < 16 * 1024, size.stdout);
  await neighbourAnswers();
  await assistant.client.services.delete({ computer, service: "flood" });
  // What was done is told elsewhere, and the flood is not in it.
  const { records } = await assistant.client.records.list({ operation: "service.create" });
  assert.ok(records.length >= 1);
});

test("92: control is killed in the middle of an exec: output is kept, state is read again", async () => {
  const computer = await createComputer(assistant);
  const options = { idempotencyKey: "exec-92" };
  const command = "for i in $(seq 1 40); do echo line $i; sleep 0.1; done; exit 5";
  const running = assistant.client.processes
    .exec({ computer, command, wait_ms: 30_000 }, options)
    .catch((error: unknown) => error);
  await until(
    "it runs",
    async () => (await assistant.client.processes.list({ computer, state: "running" })).processes.length > 0,
  );
  const pid = (await instance.programs())["control"]?.pid;
  assert.ok(pid);
  process.kill(pid, "SIGKILL");
  await running;
  let result = await untilAnswered(() =>
    assistant.client.processes.exec({ computer, command, wait_ms: 30_000 }, options),
  );
  await until("it has ended", async () => {
    result = {
      ...result,
      process: await assistant.client.processes.get({ computer, process: result.process.id, wait_ms: 5000 }),
    };
    return result.process.state === "ended";
  });
  assert.equal(result.process.exit_code, 5);
  const output = await assistant.client.processes.output({ computer, process: result.process.id });
  assert.equal(output.stdout, Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join(""));
  assert.equal((await assistant.client.processes.list({ computer })).processes.length, 1);
});

const untilAnswered = async <T>(work: () => Promise<T>): Promise<T> => {
  let last: unknown;
  for (let tries = 0; tries < 20; tries += 1) {
    try {
      return await work();
    } catch (error) {
      last = error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
  throw last;
};
