import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import {
  runsOf,
  settledRuns,
  slotFaults,
  slotTimes,
  soonMs,
  untilOnlyListed,
  untilState,
} from "../../support/holding.ts";
import { hangMs, until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

describe("schedules", { concurrency: true }, () => {
  test("time 5: each slot makes one run, and a manual run does not eat the next slot", async () => {
    const computer = await createComputer(assistant);
    const everyMs = 1000;
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "often",
      command: "echo ran >> /work/ran",
      every_ms: everyMs,
      overlap: "queue",
    });
    await until("a slot has come", async () => slotTimes(await runsOf(assistant, schedule)).length > 0);
    const manual = [];
    for (let count = 0; count < 6; count += 1) {
      manual.push(await client.schedules.run({ schedule, wait_ms: 20_000 }));
      await new Promise((resolve) => setTimeout(resolve, 350));
    }
    assert.ok(
      manual.every(({ cause, slot, state }) => cause === "manual" && slot === null && state === "succeeded"),
    );
    const runs = await settledRuns(assistant, schedule);
    assert.ok(slotTimes(runs).length >= 3, `${slotTimes(runs).length} slots`);
    assert.deepEqual(slotFaults(runs, everyMs), []);
    assert.deepEqual(
      runs.filter(({ state }) => state !== "succeeded"),
      [],
    );
    const { stdout } = await run(assistant, computer, "wc -l < /work/ran");
    assert.equal(Number(stdout), runs.length, "each run ran once");
  });

  test("a manual run also of a paused schedule; the same idempotency key is one run", async () => {
    const computer = await createComputer(assistant);
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "asleep",
      command: "echo ran >> /work/ran",
      cron: "0 0 1 1 *",
      time_zone: "Europe/Berlin",
      paused: true,
    });
    const options = { idempotencyKey: `run-${schedule}` };
    const same = await Promise.all(
      [1, 2, 3].map(() => client.schedules.run({ schedule }, options).catch((error: unknown) => error)),
    );
    const last = await client.schedules.run({ schedule }, options);
    for (const one of same)
      if (!(one instanceof Error)) assert.equal((one as { readonly id: string }).id, last.id);
    assert.equal((await run(assistant, computer, "cat /work/ran")).stdout, "ran\n");
    assert.equal((await runsOf(assistant, schedule)).length, 1);
  });

  for (const [verb, state] of [
    ["sleep", "asleep"],
    ["stop", "stopped"],
    ["archive", "archived"],
  ] as const)
    test(`a slot wakes what is ${state}, says so, and lets it sleep again`, async () => {
      const computer = await createComputer(assistant, { sleep_after_ms: soonMs });
      await client.computers[verb]({ computer, wait_ms: 50_000 });
      await untilState(assistant, computer, state);
      const at = new Date(Date.now() + 2000).toISOString();
      const { id: schedule } = await client.schedules.create({ computer, name: "at", command: "exit 3", at });
      let [ran] = await runsOf(assistant, schedule);
      await until(
        "its slot has run",
        async () => {
          [ran] = await runsOf(assistant, schedule);
          return ran?.ended_at !== undefined && ran.ended_at !== null;
        },
        { withinMs: 2 * hangMs, detail: () => JSON.stringify(ran) },
      );
      assert.deepEqual([ran?.woke, ran?.state, ran?.exit], [state, "failed", { kind: "exited", code: 3 }]);
      const shown = await client.schedules.get({ schedule });
      assert.deepEqual([shown.state, shown.next_slot, shown.last_run?.id], ["ended", null, ran?.id]);
      await untilState(assistant, computer, "asleep");
      assert.equal((await runsOf(assistant, schedule)).length, 1);
    });

  test("a run tells how it ended: exit code, signal, time-out, retries within one run", async () => {
    const computer = await createComputer(assistant);
    const make = async (name: string, fields: Readonly<Record<string, unknown>>): Promise<string> =>
      (await client.schedules.create({ computer, name, event: true, ...(fields as { command: string }) })).id;
    const ran = async (schedule: string) => client.schedules.run({ schedule, wait_ms: 40_000 });
    const killed = await ran(await make("killed", { command: "kill -9 $$" }));
    assert.deepEqual([killed.state, killed.exit?.kind], ["failed", "signaled"]);
    const late = await ran(await make("late", { command: "sleep 60", timeout_ms: 1000 }));
    assert.deepEqual([late.state, late.timed_out], ["failed", true]);
    const command = "echo x >> /work/tries; [ $(wc -l < /work/tries) = 3 ] && echo third";
    const tried = await ran(await make("tries", { command, retries: 5, retry_backoff_ms: 1000 }));
    assert.deepEqual([tried.state, tried.attempt], ["succeeded", 3]);
    assert.equal((await client.runs.output({ run: tried.id })).text, "third\n");
  });

  test("a slot while the run before goes on: skipped, queued, or in its place", async () => {
    const computer = await createComputer(assistant);
    const made = new Map<string, string>();
    for (const overlap of ["skip", "queue", "replace"] as const) {
      const command = `echo begin >> /work/${overlap}; sleep 2.5; echo end >> /work/${overlap}`;
      const fields = { computer, name: overlap, command, every_ms: 1000, overlap };
      made.set(overlap, (await client.schedules.create(fields)).id);
    }
    await new Promise((resolve) => setTimeout(resolve, 6500));
    const begins = async (overlap: string): Promise<readonly [number, number]> => {
      const { stdout } = await run(
        assistant,
        computer,
        `grep -c begin /work/${overlap}; grep -c end /work/${overlap}; true`,
      );
      const [begun = 0, ended = 0] = stdout.trim().split("\n").map(Number);
      return [begun, ended];
    };
    for (const [overlap, schedule] of made) {
      const runs = await settledRuns(assistant, schedule);
      const [begun, ended] = await begins(overlap);
      const started = runs.filter(({ started_at }) => started_at !== null);
      assert.equal(started.length, begun, `${overlap}: each run began once`);
      assert.deepEqual(slotFaults(runs, 1000), [], `${overlap}: a slot without its run`);
      const of = (state: string): number => runs.filter((one) => one.state === state).length;
      if (overlap === "skip") assert.ok(of("skipped") > 0 && of("succeeded") === ended, JSON.stringify(runs));
      if (overlap === "queue") assert.deepEqual([of("succeeded"), ended], [runs.length, runs.length]);
      if (overlap === "replace")
        assert.ok(of("cancelled") + of("failed") > 0 && begun > ended, JSON.stringify(runs));
    }
  });

  test("an event starts a run with its own key and hands over what it carries; another key starts nothing", async () => {
    const computer = await createComputer(assistant);
    const made = await client.schedules.create({
      computer,
      name: "hook",
      command: "cat > /work/said",
      event: true,
    });
    const address = new URL(made.run_address ?? "");
    const fire = async (key: string): Promise<Response> =>
      fetch(new URL(address.pathname, instance.url), {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ payload: { colour: "green" } }),
      });
    const refused = await fire(`hfe_${"0".repeat(52)}`);
    assert.ok([401, 404].includes(refused.status), String(refused.status));
    assert.ok(
      [401, 404].includes((await fire(assistant.secret)).status),
      "an assistant's key is not the schedule's",
    );
    assert.deepEqual(await runsOf(assistant, made.id), []);
    await client.computers.sleep({ computer });
    const answer = await fire(made.event_key ?? "");
    assert.equal(answer.status, 200, await answer.clone().text());
    const { run: id } = (await answer.json()) as { readonly run: string };
    const ended = await client.runs.get({ run: id, wait_ms: 30_000 });
    assert.deepEqual([ended.state, ended.cause, ended.woke], ["succeeded", "event", "asleep"]);
    const { stdout } = await run(assistant, computer, "cat /work/said");
    assert.deepEqual(JSON.parse(stdout), { colour: "green" });
    assert.ok(
      !JSON.stringify(await client.schedules.get({ schedule: made.id })).includes(made.event_key ?? "-"),
    );
  });

  test("a run in a clean fork sees the files, changes nothing here, and leaves no computer behind", async () => {
    const computer = await createComputer(assistant);
    await client.files.write({ computer, path: "/work/input", content: "input" });
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "aside",
      command: "cat /work/input; echo spoilt > /work/input; exit 4",
      event: true,
      place: "fork",
    });
    const ran = await client.schedules.run({ schedule, wait_ms: 50_000 });
    assert.deepEqual([ran.state, ran.exit], ["failed", { kind: "exited", code: 4 }], JSON.stringify(ran));
    assert.notEqual(ran.fork, null);
    assert.match((await client.runs.output({ run: ran.id })).text, /^input/);
    assert.equal((await run(assistant, computer, "cat /work/input")).stdout, "input");
    await until("the fork is gone", async () =>
      (await client.computers.list({ limit: 200 })).computers.every(({ id }) => id !== ran.fork),
    );
    await untilOnlyListed(instance);
  });
});
