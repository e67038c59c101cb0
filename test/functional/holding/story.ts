import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import { runsOf, settledRuns, slotFaults, slotTimes, soonMs } from "../../support/holding.ts";
import type { Assistant } from "../../support/instance.ts";
import { serverDefinition } from "../../support/projects.ts";

/** Where and when the story is played. */
export interface Stage {
  readonly assistant: Assistant;
  publish(project: string): Promise<unknown>;
  /** A visitor without a right opens the page; answers what it shows. */
  view(project: { readonly id: string; readonly slug: string; readonly computer: string }): Promise<string>;
  now(): number;
  /** Called again and again: lets some time pass. `quiet`: nothing is under way. */
  pass(quiet: boolean): Promise<void>;
}

/** Shows how many lines the schedule has written, and how long its own process lives. */
const server = `
const fs = require("fs");
const count = () => fs.existsSync("slots") ? fs.readFileSync("slots", "utf8").trim().split("\\n").length : 0;
require("http").createServer((q, s) => s.end("lines " + count())).listen(process.env.PORT, "127.0.0.1");
`;

const minuteMs = 60_000;

/**
 * A project with a service and a schedule of a run a minute, on a computer that sleeps and stops whenever it may: each slot is one run, a
 * page view in the middle wakes it, and nothing is lost.
 */
export const playStory = async (
  context: Pick<TestContext, "diagnostic">,
  stage: Stage,
  minutes: number,
): Promise<void> => {
  const { client } = stage.assistant;
  const computer = await createComputer(stage.assistant, {
    sleep_after_ms: soonMs,
    stop_after_ms: 2 * soonMs,
  });
  const made = await client.projects.create({ computer, name: "story" });
  await client.files.write({ computer, path: `${made.folder}/server.js`, content: server });
  await client.projects.update({ project: made.id, definition: serverDefinition, if_match: made.version });
  const { project } = await client.projects.deploy({ project: made.id, message: "Show what was counted" });
  assert.equal(project.state, "running", JSON.stringify(project.services));
  await stage.publish(project.id);
  const { id: schedule } = await client.schedules.create({
    project: project.id,
    name: "minute",
    command: "echo $(date +%s%N) >> slots",
    every_ms: minuteMs,
  });

  const begin = stage.now();
  const seen = new Map<string, number>();
  let viewed: string | undefined;
  let last = "";
  for (let came = 0; came < minutes; ) {
    const { state, desired_state } = await client.computers.get({ computer });
    const { last_run } = await client.schedules.get({ schedule });
    const underWay = last_run !== null && last_run.ended_at === null;
    if (state !== last) seen.set(state, (seen.get(state) ?? 0) + 1);
    last = state;
    came = Math.floor((stage.now() - begin) / minuteMs);
    // In the second half of a minute, when it has gone as far down as it does.
    const isLate = (stage.now() - begin) % minuteMs > minuteMs / 2;
    if (viewed === undefined && came >= minutes / 2 && isLate && state === "stopped") {
      const slots = slotTimes(await runsOf(stage.assistant, schedule)).length;
      viewed = await stage.view(project);
      assert.equal(viewed, `lines ${slots}`, "the page that woke it shows every line");
      assert.equal((await client.computers.get({ computer })).state, "awake");
    }
    await stage.pass(state === desired_state && !underWay);
  }

  const runs = await settledRuns(stage.assistant, schedule);
  context.diagnostic(
    `${runs.length} runs; states seen: ${[...seen].map(([name, times]) => `${name} ${times}`).join(", ")}`,
  );
  assert.ok(slotTimes(runs).length >= minutes - 1, `${slotTimes(runs).length} slots in ${minutes} minutes`);
  assert.deepEqual(slotFaults(runs, minuteMs), [], "a slot has no run, or two");
  assert.deepEqual(
    runs.filter(({ state, cause }) => state !== "succeeded" || cause !== "slot"),
    [],
  );
  for (const state of ["asleep", "stopped"])
    assert.ok((seen.get(state) ?? 0) >= minutes / 2, `it was ${state} ${seen.get(state) ?? 0} times`);
  assert.ok(
    runs.some(({ woke }) => woke === "stopped"),
    "a slot woke it",
  );
  assert.notEqual(viewed, undefined, "a page view woke it");
  const { stdout } = await run(
    stage.assistant,
    computer,
    `wc -l < ${project.folder}/slots; sort -u ${project.folder}/slots | wc -l`,
  );
  assert.equal(stdout, `${runs.length}\n${runs.length}\n`, "each run left its line");
  const now = await client.projects.get({ project: project.id });
  assert.deepEqual([now.address, now.visibility], [project.address, "published"]);
  await client.computers.destroy({ computer });
};
