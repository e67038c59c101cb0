import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "../../support/computer.ts";
import { untilState } from "../../support/holding.ts";
import { servedProject } from "../../support/projects.ts";
import { hangMs, until } from "../../support/until.ts";
import { visit, type Visit } from "../../support/visit.ts";
import { useComputer } from "../../support/use.ts";

const { instance, assistant, computer } = await useComputer();
const { client } = assistant;
const project = await servedProject(assistant, computer, "app");
await (await instance.owner()).projects.publish({ project: project.id });
await until("its address is known", async () => (await visit(instance, project.slug)).status === 200);

const wellAnswered = ({ status, headers, body }: Visit): boolean =>
  status === 200 ? body === "one" : status === 503 && Number(headers["retry-after"]) >= 1;

/** A visitor who comes again while it is told to. Throws on an answer that is neither the app's nor a 503 that says when to come again. */
const visitUntilServed = async (): Promise<number> => {
  let refused = 0;
  await until(
    "the app answers",
    async () => {
      const answer = await visit(instance, project.slug);
      assert.ok(wellAnswered(answer), `${answer.status} ${JSON.stringify(answer.headers)} ${answer.body}`);
      if (answer.status !== 200) refused += 1;
      return answer.status === 200;
    },
    { withinMs: hangMs },
  );
  return refused;
};

for (const [verb, state] of [
  ["sleep", "asleep"],
  ["stop", "stopped"],
  ["archive", "archived"],
] as const)
  test(`state 6: the first request after ${verb} gets the app, never a 502, also when many come at once`, async (context) => {
    await client.computers[verb]({ computer, wait_ms: 50_000 });
    await untilState(assistant, computer, state);
    const begin = performance.now();
    const refused = await Promise.all(Array.from({ length: 12 }, visitUntilServed));
    context.diagnostic(
      `all served after ${Math.round(performance.now() - begin)} ms, ${refused.reduce((a, b) => a + b)} times told to come again`,
    );
    assert.equal((await client.computers.get({ computer })).state, "awake");
  });

test("state 6: requests that meet a transition are answered by the app or told when to come again", async (context) => {
  const answers = new Map<number, number>();
  let over = false;
  const visitor = async (): Promise<void> => {
    while (!over) {
      const answer = await visit(instance, project.slug);
      answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1);
      assert.ok(wellAnswered(answer), `${answer.status} ${JSON.stringify(answer.headers)} ${answer.body}`);
    }
  };
  const visitors = Promise.all([visitor(), visitor(), visitor()]);
  visitors.catch(() => {});
  for (let round = 0; round < 8; round += 1) {
    await client.computers[round % 4 === 3 ? "stop" : "sleep"]({ computer, wait_ms: 1000 });
    await untilState(assistant, computer, "awake");
  }
  over = true;
  await visitors;
  context.diagnostic(JSON.stringify([...answers]));
  assert.ok((answers.get(200) ?? 0) > 0);
});

test("state 6: a command that comes while it is put to sleep or stopped is run, once, and none hangs", async () => {
  await run(assistant, computer, "rm -f /work/ran");
  for (let round = 0; round < 12; round += 1) {
    const change = client.computers[round % 3 === 2 ? "stop" : "sleep"]({ computer, wait_ms: 0 });
    const [, ran] = await Promise.all([
      change.catch(() => undefined),
      run(assistant, computer, `echo ${round} >> /work/ran`),
    ]);
    assert.ok(
      ran.process.exit_code === 0 || ran.process.exit?.kind !== "exited",
      JSON.stringify(ran.process),
    );
  }
  const { stdout } = await run(assistant, computer, "cat /work/ran");
  const lines = stdout.trim().split("\n");
  assert.deepEqual(lines, [...new Set(lines)], "a command ran twice");
});

test("a visitor without a right does not wake a private computer, however often", async () => {
  const owner = await instance.owner();
  await owner.projects.unpublish({ project: project.id });
  await until("it is private", async () => (await visit(instance, project.slug)).status === 404);
  for (const [verb, state] of [
    ["sleep", "asleep"],
    ["stop", "stopped"],
  ] as const) {
    await client.computers[verb]({ computer });
    for (let count = 0; count < 5; count += 1)
      assert.equal((await visit(instance, project.slug)).status, 404);
    assert.equal((await client.computers.get({ computer })).state, state);
  }
  const headers = { "holdfast-key": assistant.secret };
  await until(
    "the key wakes it",
    async () => (await visit(instance, project.slug, { headers })).status === 200,
    {
      withinMs: hangMs,
    },
  );
});
