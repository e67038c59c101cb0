import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { systemClock } from "@holdfast/kit";
import { call, startWithKey } from "../../support/control.ts";
import { playSupervisor } from "../../support/played-supervisor.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { hangMs, until } from "../../support/until.ts";

const postgres = usePostgres();
const gibibyte = 1024 ** 3;

/** A played host with this much above its reserve, on which a stopped computer gives 256 MiB back and each start needs 512. */
const usePressed = async (context: TestContext, freeBytes: number) => {
  const supervisor = await playSupervisor(context);
  const { memory } = supervisor;
  memory.reserve_bytes = gibibyte;
  memory.available_bytes = gibibyte + freeBytes;
  const wanted = gibibyte / 2;
  supervisor.before = (method, id) => {
    if (method === "cell.stop") memory.available_bytes += gibibyte / 4;
    if (method !== "cell.start" || supervisor.cells.has(id)) return;
    const free = memory.available_bytes - memory.reserve_bytes;
    if (free < wanted)
      throw new HoldfastError("host_full", "the host has not enough free memory", {
        wanted_bytes: wanted,
        free_bytes: free,
      });
  };
  let leapt = 0;
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + leapt,
    monotonic: () => systemClock.monotonic() + leapt,
  };
  const { control, key } = await startWithKey(context, postgres, {
    supervisor: { instance: "test", socket: supervisor.socket },
    clock,
  });
  const ask = (method: string, path: string, body?: unknown) =>
    call(control.url, key.secret, method, path, body);
  const create = async (name: string) => ask("POST", "/v1/computers", { name, wait_ms: 50_000 });
  const stateOf = async (name: string) => (await ask("GET", `/v1/computers/${name}`)).body["state"];
  return { supervisor, control, create, stateOf, leap: (ms: number) => void (leapt += ms) };
};

test("under pressure the one that was idle longest sleeps, then the longest asleep is stopped, and each is told why", async (context) => {
  const { supervisor, control, create, stateOf, leap } = await usePressed(context, gibibyte);
  assert.equal((await create("first")).status, 201);
  leap(20_000);
  assert.equal((await create("second")).status, 201);
  leap(20_000);
  supervisor.memory.available_bytes = supervisor.memory.reserve_bytes - 1;
  await until("one is stopped", async () => (await stateOf("first")) === "stopped", { withinMs: hangMs });
  assert.equal(await stateOf("second"), "awake", "there is room by now");
  const told = await query(
    control.databaseUrl,
    "select kind, data from events where kind in ('computer.asleep', 'computer.stopped') order by id",
  );
  assert.deepEqual(told, [
    { kind: "computer.asleep", data: { name: "first", cause: "memory_pressure" } },
    { kind: "computer.stopped", data: { name: "first", cause: "memory_pressure" } },
  ]);
});

test("a creation on a full host is made once an idle computer has made room for it, and refused when none is left", async (context) => {
  const { supervisor, create, stateOf, leap } = await usePressed(context, gibibyte);
  assert.equal((await create("idle")).status, 201);
  leap(60_000);
  // Enough for who runs, and not for another.
  supervisor.memory.available_bytes = supervisor.memory.reserve_bytes + (5 / 16) * gibibyte;
  assert.deepEqual(await created(create("first")), [201, "awake"]);
  assert.equal(await stateOf("idle"), "stopped");
  supervisor.memory.available_bytes = supervisor.memory.reserve_bytes + (5 / 16) * gibibyte;
  assert.deepEqual(await created(create("second")), [503, "host_full"], "the first was used just now");
  assert.equal(await stateOf("first"), "awake");
});

const created = async (reply: ReturnType<typeof call>): Promise<readonly unknown[]> => {
  const { status, body } = await reply;
  return [status, body["state"] ?? body["code"]];
};
