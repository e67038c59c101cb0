import assert from "node:assert/strict";
import { before, test } from "node:test";
import { call, type Reply } from "../support/control.ts";
import { type Assistant, type Instance, usePrivateInstance } from "../support/instance.ts";
import { until, untilValue } from "../support/until.ts";

/** Control is killed at each named point around what it does to computers; what was asked for is then whole or absent, and done once. */
const opened = usePrivateInstance("crash");
let instance: Instance;
let assistant: Assistant;
before(async () => {
  instance = await opened;
  assistant = await instance.assistant({ computers: 50 });
});

const ask = (method: string, path: string, body?: unknown, key?: string): Promise<Reply> =>
  call(
    instance.url,
    assistant.secret,
    method,
    path,
    body,
    key === undefined ? {} : { "idempotency-key": `"${key}"` },
  );

/** Does `work` on a control that dies at `point`, then brings a sound one up. Fails when the point was not reached. */
const killedAt = async (point: string, work: () => Promise<Reply>): Promise<void> => {
  await instance.up({ HOLDFAST_CRASH_POINT_CONTROL: point });
  const first = (await instance.programs())["control"]?.pid;
  const reply = await work().catch(() => undefined);
  await until(`control died at ${point}`, async () => (await instance.programs())["control"]?.pid !== first, {
    detail: () => JSON.stringify(reply?.body),
  });
  await instance.up();
};

const state = async (computer: string): Promise<unknown> =>
  (await ask("GET", `/v1/computers/${computer}`)).body["state"];

/** The same request with the same key, until the first one's fate is known. */
const repeat = (path: string, body: unknown, key: string): Promise<Reply> =>
  untilValue(
    "the repeated request is answered",
    async () => {
      const reply = await ask("POST", path, body, key);
      return reply.body["code"] === "operation_running" || reply.status === 503 ? undefined : reply;
    },
    20_000,
  );

for (const point of [
  "computer-create-admitted",
  "computer-before-volume",
  "computer-before-cell",
  "computer-after-cell",
  "computer-before-awake",
  "computer-recorded",
])
  test(`killed at ${point}: one computer is made, however often it is asked for`, async () => {
    const name = point;
    await killedAt(point, () => ask("POST", "/v1/computers", { name }, name));
    const again = await repeat("/v1/computers", { name }, name);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    await until("it is awake", async () => (await state(name)) === "awake");
    const list = (await ask("GET", "/v1/computers")).body["computers"] as { name: string }[];
    assert.equal(list.filter((computer) => computer.name === name).length, 1);
    assert.equal((await ask("POST", `/v1/computers/${name}/exec`, { argv: ["true"] })).status, 200);
    await ask("DELETE", `/v1/computers/${name}`);
    assert.deepEqual(await instance.leftovers([]), []);
  });

for (const [point, verb, wanted] of [
  ["computer-state-admitted", "sleep", "asleep"],
  ["computer-before-freeze", "sleep", "asleep"],
  ["computer-after-freeze", "sleep", "asleep"],
  ["computer-before-stop", "stop", "stopped"],
  ["computer-after-stop", "stop", "stopped"],
] as const)
  test(`killed at ${point}: the computer gets to where it was asked to be`, async () => {
    const name = point;
    await ask("POST", "/v1/computers", { name });
    await ask("POST", `/v1/computers/${name}/exec`, { command: "echo kept > /work/kept" });
    await killedAt(point, () => ask("POST", `/v1/computers/${name}/${verb}`, {}));
    await until(`it is ${wanted}`, async () => (await state(name)) === wanted, { withinMs: 20_000 });
    const read = await ask("POST", `/v1/computers/${name}/exec`, { argv: ["cat", "/work/kept"] });
    assert.equal(read.body["stdout"], "kept\n");
    await ask("DELETE", `/v1/computers/${name}`);
  });

for (const point of ["computer-before-destroy", "computer-after-destroy"])
  test(`killed at ${point}: the destruction is finished and leaves nothing`, async () => {
    const created = await ask("POST", "/v1/computers", { name: point });
    const id = String(created.body["id"]);
    await killedAt(point, () => ask("DELETE", `/v1/computers/${point}`));
    await until("it is destroyed", async () => (await state(id)) === "destroyed", { withinMs: 20_000 });
    assert.deepEqual(await instance.leftovers([]), []);
  });

for (const point of ["computer-before-resize", "computer-after-resize"])
  test(`killed at ${point}: the new size holds`, async () => {
    const created = await ask("POST", "/v1/computers", { name: point });
    const change = () =>
      call(
        instance.url,
        assistant.secret,
        "PATCH",
        `/v1/computers/${point}`,
        { size: "medium" },
        { "if-match": `"${String(created.body["version"])}"` },
      );
    await killedAt(point, change);
    await until("the limits are the larger ones", async () => {
      const { body } = await ask("GET", `/v1/computers/${point}/usage`);
      return body["memory_limit_bytes"] === 4 * 1024 ** 3;
    });
    await ask("DELETE", `/v1/computers/${point}`);
  });

const ran = async (computer: string): Promise<number> => {
  const { body } = await ask("POST", `/v1/computers/${computer}/exec`, { command: "cat /work/ran | wc -l" });
  return Number(body["stdout"]);
};

for (const [point, path] of [
  ["process-before-run", "exec"],
  ["process-after-run", "exec"],
  ["process-before-start", "processes"],
  ["process-after-start", "processes"],
] as const)
  test(`killed at ${point}: the command ran at most once, and the repeated request tells how it went`, async () => {
    await ask("POST", "/v1/computers", { name: point });
    const body = { command: "echo once >> /work/ran; exit 4" };
    await killedAt(point, () => ask("POST", `/v1/computers/${point}/${path}`, body, point));
    const again = await repeat(`/v1/computers/${point}/${path}`, body, point);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    const id = String(((again.body["process"] ?? again.body) as { id: string }).id);
    const ended = await untilValue("the process has ended", async () => {
      const reply = await ask("GET", `/v1/computers/${point}/processes/${id}?wait_ms=1000`);
      return reply.body["state"] === "ended" ? reply.body : undefined;
    });
    const times = await ran(point);
    if (ended["exit_code"] === 4) assert.equal(times, 1);
    else assert.deepEqual([ended["exit"], times], [{ kind: "lost" }, 0]);
    assert.equal(ended["exit_code"], point.includes("after") ? 4 : null);
    await ask("DELETE", `/v1/computers/${point}`);
  });

test("killed at process-before-deleted: what never ran is not running", async () => {
  const point = "process-before-deleted";
  await ask("POST", "/v1/computers", { name: point });
  await killedAt(point, () => ask("POST", `/v1/computers/${point}/exec`, { argv: ["/no/such/program"] }));
  await until(
    "nothing counts as running",
    async () => {
      const { body } = await ask("GET", `/v1/computers/${point}/processes?state=running`);
      return (body["processes"] as unknown[]).length === 0;
    },
    { withinMs: 15_000 },
  );
  await ask("DELETE", `/v1/computers/${point}`);
});

for (const point of ["process-before-observed", "process-observed"])
  test(`killed at ${point}: the end of a background process is told once`, async () => {
    await ask("POST", "/v1/computers", { name: point });
    const started = await ask("POST", `/v1/computers/${point}/processes`, { command: "sleep 3; exit 9" });
    const id = String(started.body["id"]);
    await killedAt(point, () => ask("GET", `/v1/computers/${point}/processes/${id}?wait_ms=10000`));
    const ended = await ask("GET", `/v1/computers/${point}/processes/${id}?wait_ms=5000`);
    assert.equal(ended.body["exit_code"], 9, JSON.stringify(ended.body));
    await ask("DELETE", `/v1/computers/${point}`);
  });

for (const point of ["services-before-apply", "services-applied", "service-before-restart"])
  test(`killed at ${point}: the service runs, once`, async () => {
    await ask("POST", "/v1/computers", { name: point });
    const body = { name: "web", command: "echo start >> /work/starts; sleep 1000" };
    await killedAt(point, () => ask("POST", `/v1/computers/${point}/services`, body, point));
    const again = await repeat(`/v1/computers/${point}/services`, body, point);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    await until(
      "it is ready",
      async () => {
        const reply = await ask("GET", `/v1/computers/${point}/services/web`);
        return reply.body["state"] === "ready";
      },
      { withinMs: 20_000 },
    );
    const starts = await ask("POST", `/v1/computers/${point}/exec`, {
      command: "sleep 0.3; cat /work/starts",
    });
    assert.equal(starts.body["stdout"], "start\n");
    await ask("DELETE", `/v1/computers/${point}`);
  });
