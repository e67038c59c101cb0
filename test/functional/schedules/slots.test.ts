import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { playSchedules } from "../../support/played-schedules.ts";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();
const hourMs = 3_600_000;

/** Slots as whole steps after the first. */
const steps = (runs: readonly Readonly<Record<string, unknown>>[], everyMs: number): readonly number[] => {
  const times = runs.map(({ slot }) => Date.parse(String(slot))).toSorted((a, b) => a - b);
  return times.map((at) => (at - (times[0] ?? 0)) / everyMs);
};

describe("slots", () => {
  test("each makes one run, in time, and a manual run eats none", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const { id } = await played.make({ name: "often", every_ms: 1000, overlap: "queue" });
    for (let slot = 0; slot < 5; slot += 1) {
      const manual = await played.ask("POST", `/v1/schedules/${id}/run`, {});
      assert.equal(manual.status, 200, JSON.stringify(manual.body));
      assert.deepEqual(
        [manual.body["state"], manual.body["cause"], manual.body["slot"], manual.body["attempt"]],
        ["succeeded", "manual", null, 1],
      );
      played.clock.leap(1000);
      await played.untilRuns(id, 2 * (slot + 1), "succeeded");
    }
    const runs = await played.settled(id);
    const slots = runs.filter(({ cause }) => cause === "slot");
    assert.deepEqual(steps(slots, 1000), [...slots.keys()]);
    assert.equal(runs.length, slots.length + 5);
    assert.deepEqual(
      runs.filter(({ state }) => state !== "succeeded"),
      [],
    );
    assert.equal(played.cells.processes.size, runs.length, "each run ran once");
    const [first] = played.cells.processes.values();
    assert.equal(first?.spec.env["COLOUR"], "green");
    assert.equal(first?.spec.env["HOLDFAST_RUN"], runs[0]?.["id"]);
    const late = slots.map((run) => Date.parse(String(run["started_at"])) - Date.parse(String(run["slot"])));
    context.diagnostic(`started ${late.join(", ")} ms after their slots`);
    const shown = await played.ask("GET", `/v1/schedules/${id}`);
    assert.equal((shown.body["last_run"] as { state: string }).state, "succeeded");
    const listed = await played.ask("GET", `/v1/computers/box`);
    assert.equal(listed.status, 404, "nothing else is played");
  });

  test("what was missed follows its policy, and a clock that jumps about makes no second run", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const made = new Map<string, string>();
    for (const missed of ["skip", "run_once", "run_each"]) {
      const name = missed.replace("_", "-");
      const timing = { cron: "0 * * * *", missed, missed_most: 3 };
      made.set(missed, (await played.make({ name, ...timing })).id);
    }
    // To half past an hour, so that nothing is on time.
    const toHalfPast = hourMs - ((played.clock.now() + hourMs / 2) % hourMs);
    played.clock.setWall(toHalfPast);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const before = new Map<string, number>();
    for (const [missed, id] of made) before.set(missed, (await played.runs(id)).length);
    played.clock.setWall(5 * hourMs);
    const more = async (
      missed: string,
      states: string[],
    ): Promise<readonly Readonly<Record<string, unknown>>[]> => {
      const id = made.get(missed) ?? "";
      const already = before.get(missed) ?? 0;
      const expected = { skip: 0, run_once: 1, run_each: 3 }[missed] ?? 0;
      return (await played.untilRuns(id, already + expected, ...states)).slice(already);
    };
    const each = await more("run_each", ["succeeded"]);
    assert.deepEqual(steps(each, hourMs), [0, 1, 2]);
    assert.ok(each.every(({ cause }) => cause === "missed"));
    // One after the other, in their order.
    const order = each.map(({ started_at }) => Date.parse(String(started_at)));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    const once = await more("run_once", ["succeeded"]);
    assert.deepEqual(
      once.map(({ slot, cause }) => [slot, cause]),
      [[each[2]?.["slot"], "missed"]],
    );
    assert.equal((await played.runs(made.get("skip") ?? "")).length, before.get("skip"));
    const told = await played.sql("select data from events where kind = 'schedule.missed' and target = $1", [
      made.get("skip"),
    ]);
    assert.deepEqual(told.map(({ data }) => (data as { made_up: number }).made_up).at(-1), 0);

    const count = async (): Promise<number> =>
      Number((await played.sql("select count(*)::int as n from runs"))[0]?.["n"]);
    const made1 = await count();
    for (const byMs of [-2 * hourMs, hourMs, -3 * hourMs, 3.9 * hourMs]) {
      played.clock.setWall(byMs);
      await new Promise((resolve) => setTimeout(resolve, 1300));
    }
    assert.equal(await count(), made1, "the same hours once more");
    played.clock.setWall(hourMs);
    for (const [missed, id] of made)
      if (missed !== "skip")
        await until("the next hour comes", async () =>
          (await played.runs(id)).some(
            ({ slot }) => Date.parse(String(slot)) > Date.parse(String(each[2]?.["slot"])),
          ),
        );
    const twice = await played.sql(
      "select schedule_id, slot_ms from runs where slot_ms is not null group by 1, 2 having count(*) > 1",
    );
    assert.deepEqual(twice, []);
  });

  test("a clock that was years ahead by mistake stops no schedule for years", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const { id } = await played.make({ name: "often", every_ms: 60_000 });
    const years = 3 * 366 * 24 * hourMs;
    played.clock.setWall(years);
    await played.untilRuns(id, 1, "succeeded");
    played.clock.setWall(-years);
    await until("slots of these years come", async () => {
      played.clock.leap(60_000);
      const ran = (await played.runs(id)).filter(({ state }) => state === "succeeded");
      return ran.filter(({ slot }) => Date.parse(String(slot)) < Date.now() + years / 2).length >= 2;
    });
  });

  test("a slot wakes its computer and says so; paused, resumed, changed and deleted", async (context) => {
    const played = await playSchedules(context, postgres);
    const computer = await played.computer("box", "stopped");
    const { id } = await played.make({ name: "daily", every_ms: 24 * hourMs });
    played.clock.leap(24 * hourMs);
    const [run] = await played.untilRuns(id, 1, "succeeded");
    assert.deepEqual([run?.["woke"], run?.["cause"]], ["stopped", "slot"]);
    assert.deepEqual(played.cells.woken, [computer]);
    const paused = await played.ask("POST", `/v1/schedules/${id}/pause`, {});
    assert.deepEqual([paused.body["state"], paused.body["next_slot"]], ["paused", null]);
    played.clock.leap(48 * hourMs);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const resumed = await played.ask("POST", `/v1/schedules/${id}/resume`, {});
    assert.equal(resumed.body["state"], "active", JSON.stringify(resumed.body));
    assert.ok(Date.parse(String(resumed.body["next_slot"])) > played.clock.now());
    assert.equal((await played.runs(id)).length, 1, "nothing makes up for what came while it was paused");

    const stale = await played.ask("PATCH", `/v1/schedules/${id}`, { every_ms: 5000 });
    assert.equal(stale.status, 428, JSON.stringify(stale.body));
    const changed = await played.ask(
      "PATCH",
      `/v1/schedules/${id}`,
      { every_ms: 5000, command: "exit 4" },
      { "if-match": `"${String(resumed.body["version"])}"` },
    );
    assert.deepEqual(
      [changed.status, changed.body["every_ms"], changed.body["command"]],
      [200, 5000, "exit 4"],
    );
    played.clock.leap(5000);
    const [failed] = await played.untilRuns(id, 1, "failed");
    assert.deepEqual(failed?.["exit"], { kind: "exited", code: 4 });
    assert.match(String(failed?.["reason"]), /code 4/);

    const hangs = await played.make({ name: "hangs", command: "hang", event: true });
    const begun = await played.ask("POST", `/v1/schedules/${hangs.id}/run`, { wait_ms: 0 });
    await played.untilRuns(hangs.id, 1, "running");
    const gone = await played.ask("DELETE", `/v1/schedules/${hangs.id}`);
    assert.equal(gone.status, 200);
    assert.equal((await played.ask("GET", `/v1/schedules/${hangs.id}`)).status, 404);
    assert.equal((await played.ask("GET", `/v1/runs/${String(begun.body["id"])}`)).status, 404);
    await until("what ran of it is ended", () =>
      [...played.cells.processes.values()].every(({ state }) => state.state === "ended"),
    );
    // The name is free at once.
    await played.make({ name: "hangs", event: true });
    await until("nothing is left of it", async () => {
      played.clock.leap(5000);
      return (await played.sql("select 1 from schedules where id = $1", [hangs.id])).length === 0;
    });
  });
});
