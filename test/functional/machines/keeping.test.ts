import assert from "node:assert/strict";
import { test } from "node:test";
import { WebSocket } from "ws";
import { createComputer, pidsOf, run } from "../../support/computer.ts";
import { until, untilValue } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();

/** Kinds of the events about `target` from the beginning up to the first that is `last`. */
const eventsOf = async (target: string, last: string): Promise<readonly string[]> => {
  const signal = AbortSignal.timeout(10_000);
  const kinds: string[] = [];
  for await (const event of assistant.client.events.stream({ after: 0 }, { signal })) {
    if (event.target === target) kinds.push(event.kind);
    if (kinds.at(-1) === last) return kinds;
  }
  throw new Error(`there was no ${last}: ${kinds.join(", ")}`);
};

test("a service that ends again and again is given up at its limit, tells so once, and can be started anew", async () => {
  const computer = await createComputer(assistant);
  await run(assistant, computer, "echo 1 > /work/code");
  const created = await assistant.client.services.create({
    computer,
    name: "loops",
    command: "echo start >> /work/starts; exit $(cat /work/code)",
    restart: { policy: "on_failure", min_backoff_ms: 100, max_backoff_ms: 200, limit: 3 },
    wait_ms: 0,
  });
  const look = () => assistant.client.services.get({ computer, service: "loops" });
  const failed = await untilValue("it is given up", async () => {
    const now = await look();
    return now.state === "failed" ? now : undefined;
  });
  assert.match(failed.reason ?? "", /\S/);
  assert.equal(failed.exit?.kind, "exited");
  const starts = async (): Promise<number> =>
    Number((await run(assistant, computer, "wc -l < /work/starts")).stdout);
  assert.equal(await starts(), 4, "the first start and three more");

  // Looking at it changes nothing; being asked does.
  await run(assistant, computer, "sleep 1");
  assert.equal(await starts(), 4);
  await run(assistant, computer, "echo 0 > /work/code");
  await assistant.client.services.start({ computer, service: "loops", wait_ms: 0 });
  await until("it ran to its end", async () => (await look()).state === "stopped");
  assert.equal(await starts(), 5);
  const kinds = await eventsOf(created.id, "service.stopped");
  assert.deepEqual(
    kinds.filter((kind) => kind === "service.failed"),
    ["service.failed"],
    kinds.join(", "),
  );
  await assistant.client.computers.destroy({ computer });
});

test("a computer whose cell ends soon after each start is given up in the end, keeps its files, and wakes when asked", async () => {
  const computer = await createComputer(assistant);
  await run(assistant, computer, "echo kept > /work/kept");
  const look = () => assistant.client.computers.get({ computer });
  const killed = new Set<string>();
  /** The first inside; what runs besides it dies with it. */
  const agentOf = async (): Promise<string | undefined> => {
    const [pid] = await pidsOf(computer);
    return pid !== undefined && !killed.has(pid) ? pid : undefined;
  };
  const killAgent = async (): Promise<void> => {
    const pid = await untilValue("its agent runs", agentOf, 30_000);
    killed.add(pid);
    process.kill(Number(pid), "SIGKILL");
  };
  await until(
    "it is given up",
    async () => {
      if ((await look()).state === "failed") return true;
      if (await agentOf()) await killAgent();
      return false;
    },
    { withinMs: 90_000 },
  );
  const failed = await look();
  assert.match(failed.reason ?? "", /times in a row/);
  assert.equal(killed.size, 6);
  await assert.rejects(run(assistant, computer, "true"), { code: "computer_failed" });
  await until("nothing of it runs", async () => (await pidsOf(computer)).length === 0);
  const awake = await assistant.client.computers.wake({ computer });
  assert.equal(awake.state, "awake");
  assert.equal((await run(assistant, computer, "cat /work/kept")).stdout, "kept\n");
  await assistant.client.computers.destroy({ computer });
});

test("a terminal takes what it understands, ends a client that it does not, and goes on for the next one", async () => {
  const computer = await createComputer(assistant);
  const { id } = await assistant.client.processes.start({
    computer,
    command: "exec bash -i",
    terminal: { columns: 80, rows: 24 },
  });
  const attach = async (): Promise<{
    readonly socket: WebSocket;
    readonly text: () => string;
    readonly closed: Promise<number>;
  }> => {
    // Node's own client sends no header of ours; the SDK's way is tried elsewhere.
    const socket = new WebSocket(
      `${instance.url.replace("http", "ws")}/v1/computers/${computer}/processes/${id}/attach`,
      { headers: { authorization: `Bearer ${assistant.secret}` } },
    );
    let text = "";
    socket.on("message", (data: Buffer) => (text += data.toString("utf8")));
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return { socket, text: () => text, closed };
  };
  const broken = await attach();
  broken.socket.send('{"type":"resize","columns":-1,"rows":1}');
  assert.equal(await broken.closed, 1000);

  // Two at once see the same screen; one that goes away takes nothing with it.
  const one = await attach();
  const two = await attach();
  one.socket.send(Buffer.from("echo both-$((20+3))\n"));
  for (const { text } of [one, two])
    await until("both see it", () => text().includes("both-23"), { detail: text });
  one.socket.close();
  await one.closed;
  two.socket.send(Buffer.from("exit 6\n"));
  await two.closed;
  assert.match(two.text(), /"type":"end"/);
  const ended = await assistant.client.processes.get({ computer, process: id });
  assert.equal(ended.exit_code, 6);
  await assistant.client.computers.destroy({ computer });
});

/** Until not even 4 KiB are left. */
const fill =
  "n=0; for size in 256M 16M 1M 64K 4K; do while fallocate -l $size /work/fill-$n 2>/dev/null; do n=$((n+1)); done; done; sync";

test("a computer whose disk is full starts again after a stop, and frees it", async () => {
  const computer = await createComputer(assistant, { size: "small" });
  for (const round of [1, 2]) {
    await run(assistant, computer, fill);
    await assistant.client.computers.stop({ computer });
    const freed = await run(
      assistant,
      computer,
      `ls /work/fill-* | wc -l; rm /work/fill-* && sync; echo ${round}`,
    );
    assert.equal(freed.process.exit_code, 0);
    assert.match(freed.stdout, new RegExp(`^[1-9]\\d*\n${round}\n$`));
  }
  await assistant.client.computers.destroy({ computer });
});

test("a pool that is nearly full refuses a new computer, leaves nothing of it, and makes it when there is room", async () => {
  const holder = await createComputer(assistant, { size: "medium" });
  // Cells may fill what is theirs together; the last tenth is kept for deleting.
  await run(assistant, holder, fill);
  const create = () => assistant.once.computers.create({ name: "late" }, { idempotencyKey: "late" });
  await assert.rejects(create(), { code: "host_full" });
  // Refused again under the same key, and not as a name that is taken.
  await assert.rejects(create(), { code: "host_full" });
  const list = await assistant.client.computers.list({ limit: 200 });
  assert.deepEqual(
    list.computers.filter(({ name }) => name === "late"),
    [],
  );
  // What is there goes on: it stops, wakes, and frees what it holds.
  await assistant.client.computers.stop({ computer: holder });
  assert.equal((await run(assistant, holder, "rm /work/fill-* && sync")).process.exit_code, 0);
  const made = await untilValue("there is room again", () => create().catch(() => undefined), 30_000);
  assert.equal(made.state, "awake", made.reason ?? "");
  for (const computer of [holder, made.id]) await assistant.client.computers.destroy({ computer });
});
