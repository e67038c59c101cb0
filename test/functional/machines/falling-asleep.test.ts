import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { HoldfastError, limits } from "@holdfast/contract";
import { playComputers, type PlayedComputers } from "../../support/played-computers.ts";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();
const sleepAfterMs = 10_000;
const idle = { lifecycle: { sleep_after_ms: sleepAfterMs } };
const { signal } = new AbortController();

/** Lets it be idle for all of its time, half of which is over at the first look. */
const fallAsleep = async (played: PlayedComputers): Promise<void> => {
  played.leap(sleepAfterMs);
  await played.sleeper.look();
  played.leap(sleepAfterMs);
  await played.sleeper.look();
};

const isState = (played: PlayedComputers, id: string, state: string): Promise<void> =>
  until(`it is ${state}`, async () => (await played.get(id)).state === state);

/** Repeatable: no two rounds are alike, and each run has the same. */
const numbers = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return ((state >>> 8) / 2 ** 24) * below;
  };
};

test("whoever comes while a computer falls asleep has it running until done: never a frozen one, never a refusal", async (context) => {
  const played = await playComputers(context, postgres);
  const { activity, cells, computers } = played;
  const { id } = await played.awake("one", idle);
  const random = numbers(7);
  played.before = async (method) => {
    if (method === "cell.freeze" || method === "cell.start") await pause(random(4));
  };
  const wrong: string[] = [];
  let slept = 0;
  const visit = async (round: number, beforeReadMs: number, staleMs: number): Promise<void> => {
    await pause(beforeReadMs);
    const row = await played.get(id);
    // What was read may be old by the time it is used.
    await pause(staleMs);
    const done = activity.use(id);
    try {
      await computers.reach(row, signal);
      for (let look = 0; look < 3; look += 1) {
        if (cells.get(id) !== "running") wrong.push(`round ${round}: ${cells.get(id)}`);
        await pause(1);
      }
    } catch (error) {
      wrong.push(`round ${round}: ${String(error)}`);
    } finally {
      done();
    }
  };
  for (let round = 0; round < 150; round += 1) {
    const frozen = played.did.filter((one) => one.startsWith("cell.freeze")).length;
    played.leap(sleepAfterMs);
    await played.sleeper.look();
    played.leap(sleepAfterMs);
    const visits = Array.from({ length: 1 + (round % 4) }, () => visit(round, random(6), random(8)));
    await Promise.all([played.sleeper.look(), ...visits]);
    slept += played.did.filter((one) => one.startsWith("cell.freeze")).length - frozen;
  }
  assert.deepEqual(wrong, []);
  context.diagnostic(`it was frozen ${slept} times in 150 rounds`);
  assert.ok(slept > 10, `only ${slept} rounds tried anything`);
});

test("a use that began before the freeze takes the wish back, and the next idle time is whole", async (context) => {
  const played = await playComputers(context, postgres);
  const { id } = await played.awake("one", idle);
  played.leap(2 * sleepAfterMs);
  // As the sleeper writes it; somebody comes before the move is made.
  await played.sql("update computers set desired_state = 'asleep', desired_cause = 'idle' where id = $1", [
    id,
  ]);
  const done = played.activity.look(id);
  played.reconciler.nudge(id);
  await until("it is taken back", async () => (await played.get(id)).desiredState === "awake");
  assert.equal((await played.get(id)).cause, "in_use");
  assert.ok(!played.did.some((one) => one.startsWith("cell.freeze")));
  done();
});

test("who asks for sleep is obeyed though it is in use", async (context) => {
  const played = await playComputers(context, postgres);
  const { id } = await played.awake("one", idle);
  const done = played.activity.use(id);
  await played.sql("update computers set desired_state = 'asleep', desired_cause = 'asked' where id = $1", [
    id,
  ]);
  played.reconciler.nudge(id);
  await isState(played, id, "asleep");
  done();
});

test("it sleeps, is stopped and is told why; a touch, work of its processors, a hold and a kept process each keep it awake", async (context) => {
  const played = await playComputers(context, postgres);
  const keeping = { ...idle, lifecycle: { ...idle.lifecycle, stop_after_ms: 60_000 } };
  const [plain, touched, working, held, keeps] = await Promise.all(
    ["plain", "touched", "working", "held", "keeps"].map((name) => played.awake(name, keeping)),
  );
  assert.ok(plain && touched && working && held && keeps);
  await played.sql("insert into holds values ('hld_1', $1, 'asst_one', 'a test', null, $2, $3)", [
    held.id,
    played.now(),
    played.now() + 3_600_000,
  ]);
  await played.sql(
    `insert into processes (id, computer_id, operation_id, principal_id, command, terminal, stdin_open, state, started_at_ms, keep_awake)
     values ('prc_1', $1, 'opr_1', 'asst_one', 'true', false, false, 'running', $2, true)`,
    [keeps.id, played.now()],
  );
  played.leap(sleepAfterMs);
  await played.sleeper.look();
  played.activity.touch(touched.id);
  played.cpuMs.set(working.id, 2_000);
  played.leap(sleepAfterMs * 0.9);
  await played.sleeper.look();
  await isState(played, plain.id, "asleep");
  for (const one of [touched, working, held, keeps])
    assert.equal((await played.get(one.id)).desiredState, "awake", one.name);
  assert.equal((await played.get(working.id)).activeAtMs <= played.now(), true);
  // What held them ends: their idle time begins there.
  await played.sql("update holds set expires_at_ms = $1", [played.now()]);
  await played.sql("update processes set state = 'ended', ended_at_ms = $1", [played.now()]);
  await fallAsleep(played);
  for (const one of [touched, working, held, keeps]) await isState(played, one.id, "asleep");
  played.leap(60_000);
  await played.sleeper.look();
  await isState(played, plain.id, "stopped");
  assert.deepEqual(await played.told(plain.id), ["awake asked", "asleep idle", "stopped long_asleep"]);
  await computersWake(played, plain.id);
  assert.equal((await played.told(plain.id)).at(-1), "awake needed");
});

const computersWake = async (played: PlayedComputers, id: string): Promise<void> => {
  await played.computers.reach(await played.get(id), signal);
  assert.equal(played.cells.get(id), "running");
};

test("a hold keeps what sleeps from being stopped, and not from the end of its lifetime", async (context) => {
  const played = await playComputers(context, postgres);
  const lifecycle = { sleep_after_ms: sleepAfterMs, stop_after_ms: 20_000 };
  const { id } = await played.awake("one", { lifecycle, expiresAtMs: played.now() + 100_000 });
  await fallAsleep(played);
  await isState(played, id, "asleep");
  await played.sql("insert into holds values ('hld_1', $1, 'asst_one', 'a test', null, $2, $3)", [
    id,
    played.now(),
    played.now() + 3_600_000,
  ]);
  played.leap(30_000);
  await played.sleeper.look();
  assert.equal((await played.get(id)).desiredState, "asleep");
  played.leap(60_000);
  await played.sleeper.look();
  await isState(played, id, "destroyed");
  assert.equal((await played.told(id)).at(-1), "destroyed expired");
});

test("children end with their parent, also theirs, and the record says what was erased", async (context) => {
  const played = await playComputers(context, postgres);
  const parent = await played.awake("parent", { expiresAtMs: played.now() + 60_000 });
  const child = await played.awake("child", {
    parentId: parent.id,
    principalId: "asst_child",
    delegatorId: "asst_one",
  });
  const grandchild = await played.awake("grandchild", { parentId: child.id });
  const other = await played.awake("other");
  played.leap(61_000);
  await played.sleeper.look();
  for (const { id } of [parent, child, grandchild]) await isState(played, id, "destroyed");
  assert.equal((await played.get(other.id)).state, "awake");
  assert.equal((await played.told(parent.id)).at(-1), "destroyed expired");
  assert.equal((await played.told(grandchild.id)).at(-1), "destroyed parent_destroyed");
  const [erased] = await played.sql(
    "select data->'erased' as erased from events where target = $1 and kind = 'computer.destroyed'",
    [child.id],
  );
  assert.deepEqual(erased, { erased: { volumes: 1, snapshots: 2, archives: 0 } });
});

test("wakes are one move however many wait; more than may wait are told to come again", async (context) => {
  const played = await playComputers(context, postgres);
  const row = await played.awake("one", idle);
  await fallAsleep(played);
  await isState(played, row.id, "asleep");
  const go = Promise.withResolvers<void>();
  played.before = async (method) => {
    if (method === "cell.start") await go.promise;
  };
  const began = played.did.length;
  const asleep = await played.get(row.id);
  const waiting = Array.from({ length: limits.wakesWaiting }, () => played.computers.reach(asleep, signal));
  await assert.rejects(played.computers.reach(asleep, signal), (error: unknown) => {
    assert.ok(error instanceof HoldfastError);
    assert.deepEqual([error.code, error.details["retry_after_ms"]], ["computer_starting", 1000]);
    return true;
  });
  go.resolve();
  for (const reached of await Promise.all(waiting)) assert.equal(reached.state, "awake");
  assert.deepEqual(played.did.slice(began), [`cell.start ${row.id}`]);
});
