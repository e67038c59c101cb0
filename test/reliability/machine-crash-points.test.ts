import assert from "node:assert/strict";
import { test } from "node:test";
import { call, type Reply } from "../support/control.ts";
import { pidsOf } from "../support/computer.ts";
import { usePrivateInstance } from "../support/instance.ts";
import { until, untilValue } from "../support/until.ts";
import { crashFiles } from "./rounds.ts";
import { struck } from "./struck.ts";

/** Control is killed at each named point around what it does to computers; what was asked for is then whole or absent, and done once. */
const { files, environment } = crashFiles("machines");
const instance = await usePrivateInstance("crash", environment);
const assistant = await instance.assistant({ computers: 50 });
const { ask, killedAt, repeat } = struck(instance, assistant, files.control);

const state = async (computer: string): Promise<unknown> =>
  (await ask("GET", `/v1/computers/${computer}`)).body["state"];

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
  test(`killed at ${point}: the repeated request tells how it went, and the command ran once`, async () => {
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
    assert.deepEqual([ended["exit_code"], await ran(point)], [4, 1], JSON.stringify(ended));
    await ask("DELETE", `/v1/computers/${point}`);
  });

for (const state of ["sleep", "stop"] as const)
  test(`killed before a computer was woken for a command (${state}): the repeated request runs it, once`, async () => {
    const name = `unhanded-${state}`;
    await ask("POST", "/v1/computers", { name });
    await ask("POST", `/v1/computers/${name}/${state}`, {});
    const body = { command: "echo once >> /work/ran; exit 4" };
    await killedAt("operation-admitted", () => ask("POST", `/v1/computers/${name}/exec`, body, name));
    const again = await repeat(`/v1/computers/${name}/exec`, body, name);
    const process = again.body["process"] as Readonly<Record<string, unknown>> | undefined;
    assert.deepEqual([again.status, process?.["exit_code"]], [200, 4], JSON.stringify(again.body));
    assert.equal(await ran(name), 1);
    await ask("DELETE", `/v1/computers/${name}`);
  });

test("killed as the end of a command's cell is recorded: the repeated request does not run it again", async () => {
  const name = "ended-cell";
  const computer = String((await ask("POST", "/v1/computers", { name })).body["id"]);
  const exec = `/v1/computers/${name}/exec`;
  const body = { command: "echo once >> /work/ran; sync; sleep 20", wait_ms: 20_000 };
  const running = ask("POST", exec, body, name).catch(() => undefined);
  await until("it has written", async () => (await ran(name)) === 1, { withinMs: 15_000 });
  await killedAt("computer-recorded", async () => {
    process.kill(Number((await pidsOf(computer))[0]), "SIGKILL");
    return (await running) as Reply;
  });
  const again = await repeat(exec, body, name);
  const told = again.body["process"] as { readonly exit?: { readonly kind: string } } | undefined;
  assert.deepEqual([again.status, told?.exit?.kind], [200, "lost"], JSON.stringify(again.body));
  assert.equal(await ran(name), 1);
  await ask("DELETE", `/v1/computers/${name}`);
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
