import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import { runsOf, settledRuns, slotFaults, slotTimes, untilState } from "../../support/holding.ts";
import { type Assistant, usePrivateInstance } from "../../support/instance.ts";
import { servedProject } from "../../support/projects.ts";
import { simulateReboot } from "../../support/reboot.ts";
import { hangMs, until } from "../../support/until.ts";
import { visit } from "../../support/visit.ts";

/** One computer in each state, and what must be there whatever happens to the programs and the host. */
const opened = usePrivateInstance("holding");
const states = ["awake", "asleep", "stopped", "archived"] as const;
type State = (typeof states)[number];
/** A slot that is later than this is a missed one. */
const missedAfterMs = 10_000;
/** Those that are woken in each round: packing one takes longer than all the rest, and it is no other for having been unpacked. */
const used: readonly State[] = ["awake", "asleep", "stopped"];
const computers = new Map<State, string>();
let assistant: Assistant;
let slug = "";

before(async () => {
  const instance = await opened;
  assistant = await instance.assistant();
  for (const state of states) {
    const computer = await createComputer(assistant, { sleep_after_ms: 0, stop_after_ms: 0 });
    computers.set(state, computer);
    await run(assistant, computer, "echo 0 >> /work/lines");
    await assistant.client.snapshots.create({ computer, name: "begin" });
  }
  const project = await servedProject(assistant, of("stopped"), "site");
  slug = project.slug;
  await (await instance.owner()).projects.publish({ project: project.id });
  await bringBack();
});

const of = (state: State): string => computers.get(state) ?? "";

/** Each computer in its state again, after one was used. */
const bringBack = async (which: readonly State[] = states): Promise<void> => {
  const verbs = { awake: "wake", asleep: "sleep", stopped: "stop", archived: "archive" } as const;
  for (const state of which) {
    // Only what is awake can sleep.
    if (state === "asleep") await assistant.client.computers.wake({ computer: of(state), wait_ms: 50_000 });
    await assistant.client.computers[verbs[state]]({ computer: of(state), wait_ms: 50_000 });
    await untilState(assistant, of(state), state);
  }
};

const serves = async (): Promise<void> => {
  const instance = await opened;
  let last = "";
  await until(
    "every program is ready",
    async () => {
      const views = Object.values(await instance.programs());
      last = JSON.stringify(views);
      return views.every(({ ready }) => ready);
    },
    { withinMs: 2 * hangMs, detail: () => last },
  );
};

/** Every computer is listed in its state, wakes and has its lines. Over a restart of the host memory does not last, so none is asleep. */
const allAreThere = async (lines: readonly number[], host: "ran on" | "restarted"): Promise<void> => {
  const list = (await assistant.client.computers.list({ limit: 200 })).computers;
  assert.deepEqual(list.map(({ id }) => id).sort(), [...computers.values()].sort());
  for (const state of states) {
    if (state !== "asleep" || host === "ran on") await untilState(assistant, of(state), state);
    const { stdout } = await run(assistant, of(state), "cat /work/lines");
    const expected = used.includes(state) ? lines : lines.slice(0, 1);
    assert.deepEqual(stdout.trim().split("\n").map(Number), expected, state);
    const { snapshots } = await assistant.client.snapshots.list({ computer: of(state) });
    assert.deepEqual(
      snapshots.map(({ name }) => name),
      ["begin"],
    );
  }
};

test("state 1: five rounds in which every program is killed, one appended line each: all lines are there", async () => {
  const instance = await opened;
  instance.keepUp();
  const lines = [0];
  for (const [round, name] of ["control", "supervisor", "postgres", "gateway", "launcher"].entries()) {
    lines.push(round + 1);
    for (const state of used) await run(assistant, of(state), `echo ${round + 1} >> /work/lines`);
    await bringBack(used);
    const pid = (await instance.programs())[name]?.pid;
    assert.ok(pid, name);
    process.kill(pid, "SIGKILL");
    await until(
      `${name} is started again`,
      async () => {
        const now = (await instance.programs())[name]?.pid;
        return typeof now === "number" && now !== pid;
      },
      { withinMs: 2 * hangMs },
    );
    await serves();
  }
  await allAreThere(lines, "ran on");
  await bringBack();
});

test("state 4: a restart of the host deletes no computer: each is listed, wakes and runs as before; time 5: missed slots follow their policy", async () => {
  const instance = await opened;
  const { client } = assistant;
  const everyMs = 1000;
  const policies = { skip: 10, run_once: 10, run_each: 3 } as const;
  const made = new Map<string, string>();
  const computer = of("awake");
  for (const [missed, missed_most] of Object.entries(policies)) {
    const fields = {
      computer,
      name: missed.replace("_", "-"),
      command: `echo $HOLDFAST_RUN >> /work/${missed}`,
      every_ms: everyMs,
    };
    const { id } = await client.schedules.create({
      ...fields,
      missed: missed as keyof typeof policies,
      missed_most,
      overlap: "queue",
    });
    made.set(missed, id);
  }
  await until(
    "slots have come",
    async () => {
      const all = await Promise.all([...made.values()].map((schedule) => runsOf(assistant, schedule)));
      return all.every((runs) => slotTimes(runs).length >= 2);
    },
    { withinMs: hangMs },
  );
  // Units would start again what a power cut ends.
  await instance.down();
  await new Promise((resolve) => setTimeout(resolve, 1.5 * missedAfterMs));
  await instance.up();
  await serves();
  const back = Date.now();
  await until(
    "later slots have come",
    async () => {
      const all = await Promise.all([...made.values()].map((schedule) => runsOf(assistant, schedule)));
      return all.every((runs) => slotTimes(runs).filter((at) => at > back).length >= 2);
    },
    { withinMs: 2 * hangMs },
  );
  for (const [missed, schedule] of made) {
    const runs = await settledRuns(assistant, schedule);
    const slots = slotTimes(runs);
    assert.deepEqual(slots, [...new Set(slots)], `${missed}: a slot has two runs`);
    const late = runs.filter(({ cause, state }) => cause === "missed" && state !== "skipped");
    const most = { skip: 0, run_once: 1, run_each: 3 }[missed] ?? 0;
    assert.equal(
      late.length,
      most,
      `${missed}: ${JSON.stringify(runs.map(({ cause, slot, state }) => [cause, slot, state]))}`,
    );
    const after = runs
      .filter(({ cause }) => cause === "slot")
      .filter(({ slot }) => Date.parse(slot ?? "") > back);
    assert.deepEqual(slotFaults(after, everyMs), [], missed);
    // One whose command had run when its computer was taken down is a run whose end nobody saw.
    const ran = (await run(assistant, computer, `cat /work/${missed}`)).stdout.trim().split("\n");
    assert.deepEqual(ran, [...new Set(ran)], `${missed}: a run ran twice`);
    const done = runs.filter(({ state }) => state === "succeeded").map(({ id }) => id);
    assert.deepEqual(
      done.filter((id) => !ran.includes(id)),
      [],
      `${missed}: runs that did not run`,
    );
    const known = new Set(runs.map(({ id }) => id));
    assert.deepEqual(
      ran.filter((id) => !known.has(id)),
      [],
      `${missed}: runs that are not known`,
    );
    await client.schedules.delete({ schedule });
  }
  await allAreThere([0, 1, 2, 3, 4, 5], "restarted");
  await client.computers.stop({ computer: of("stopped") });
  let last = 0;
  await until(
    "its page is served",
    async () => {
      const answer = await visit(instance, slug);
      last = answer.status;
      assert.ok(last === 200 || last === 503, `${last}`);
      return last === 200;
    },
    { withinMs: 2 * hangMs, detail: () => String(last) },
  );
});

test("a power cut of the host, without any program's end: the same", async () => {
  const instance = await opened;
  await bringBack();
  await simulateReboot(instance);
  await instance.up();
  await serves();
  await allAreThere([0, 1, 2, 3, 4, 5], "restarted");
});
