import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import { settledRuns, slotFaults, slotTimes } from "../../support/holding.ts";
import { useHosted } from "../../support/hosted.ts";
import { until } from "../../support/until.ts";
import { playStory } from "./story.ts";

const { control, clock, owner, assistant } = await useHosted();
const { client } = assistant;

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

/** Short beside every time that anything waits for, long enough that a quarter of an hour is soon over. */
const leapMs = 1000;

test("a quarter of an hour of a project with a run a minute, sleeping and stopping in between: each slot one run, one page view wakes it, nothing is lost", async (context) => {
  await playStory(
    context,
    {
      assistant,
      publish: (project) => owner.projects.publish({ project }),
      view: async ({ id, computer }) => {
        const input = { project_id: id, right_id: null, wait_ms: 30_000 };
        const woken = await control.app.visits?.["project.wake"](input, new AbortController().signal);
        assert.equal(woken?.state, "ready", JSON.stringify(woken));
        const { services } = await client.projects.get({ project: id });
        const { port } = services.find(({ name }) => name.endsWith("-web")) ?? {};
        return (await run(assistant, computer, `curl -sS --fail http://127.0.0.1:${port}/`)).stdout;
      },
      now: clock.now,
      pass: async (quiet) => {
        if (quiet) clock.leap(leapMs);
        await rest();
      },
    },
    15,
  );
});

/** Lets so much time pass, in leaps. */
const pass = async (ms: number): Promise<void> => {
  for (let gone = 0; gone < ms; gone += leapMs) {
    clock.leap(leapMs);
    await rest();
  }
};

test("time 5: the wall clock is set back or ahead, or stands still: no slot runs twice, and those that were jumped over are missed ones", async () => {
  const computer = await createComputer(assistant, { keep_awake: true });
  const everyMs = 10_000;
  const made = new Map<"skip" | "run_once" | "run_each", string>();
  for (const missed of ["skip", "run_once", "run_each"] as const) {
    const command = `echo ran >> /work/${missed}`;
    const name = missed.replace("_", "-");
    const fields = {
      computer,
      name,
      command,
      every_ms: everyMs,
      missed,
      missed_most: 4,
      overlap: "queue",
    } as const;
    made.set(missed, (await client.schedules.create(fields)).id);
  }
  const count = async (missed: string): Promise<number> =>
    Number((await run(assistant, computer, `cat /work/${missed} 2> /dev/null | wc -l`)).stdout);
  const counts = async (): Promise<readonly number[]> => Promise.all([...made.keys()].map(count));

  await pass(35_000);
  await until("three slots have run", async () => (await counts()).every((ran) => ran === 3));
  clock.setWall(-30_000);
  await pass(29_000);
  assert.deepEqual(await counts(), [3, 3, 3], "the same slots again");
  await pass(21_000);
  await until("later ones have", async () => (await counts()).every((ran) => ran >= 4 && ran <= 6));
  const before = await counts();
  clock.setWall(65_000);
  await pass(2000);
  const late = async (): Promise<readonly number[]> =>
    (await counts()).map((ran, index) => ran - (before[index] ?? 0));
  // Whether one of the slots counts as in time depends on where in its ten seconds the leap came down.
  await until(
    "what was missed is made up for",
    async () => {
      const [skip = 0, once = 0, each = 0] = await late();
      return skip <= 1 && once >= 1 && once <= 2 && each >= 4 && each <= 5;
    },
    { detail: () => "see the runs" },
  );
  await pass(30_000);
  for (const [missed, schedule] of made) {
    const runs = await settledRuns(assistant, schedule);
    const slots = slotTimes(runs);
    assert.deepEqual(slots, [...new Set(slots)], `${missed}: a slot has two runs`);
    const done = runs.filter(({ state }) => state === "succeeded");
    assert.equal(await count(missed), done.length, `${missed}: each run ran once`);
    if (missed === "run_each")
      assert.ok(slotFaults(runs, everyMs).length <= 1, slotFaults(runs, everyMs).join("; "));
  }
  await client.computers.destroy({ computer });
});
