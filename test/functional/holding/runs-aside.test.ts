import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createComputer } from "../../support/computer.ts";
import { untilState } from "../../support/holding.ts";
import { refused } from "../../support/projects.ts";
import { hangMs, until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { assistant } = await useAssistant();
const { client } = assistant;

const idsNow = async (): Promise<readonly string[]> =>
  (await client.computers.list({ limit: 200 })).computers.map(({ id }) => id);

/** A run that goes on in its fork, and the fork. */
const goingOn = async (computer: string): Promise<{ readonly run: string; readonly fork: string }> => {
  const { id: schedule } = await client.schedules.create({
    computer,
    name: "aside",
    command: "sleep 1000000",
    event: true,
    place: "fork",
  });
  const { id: run } = await client.schedules.run({ schedule });
  let now = await client.runs.get({ run });
  await until(
    "the run goes on in its fork",
    async () => {
      now = await client.runs.get({ run });
      return now.state === "running";
    },
    { withinMs: hangMs, detail: () => JSON.stringify(now) },
  );
  return { run, fork: now.fork ?? "" };
};

describe("runs in forks", { concurrency: true }, () => {
  test("what runs in a fork goes with the computer it is a run of", async () => {
    const computer = await createComputer(assistant);
    const { fork } = await goingOn(computer);
    assert.ok((await idsNow()).includes(fork));
    await client.computers.destroy({ computer });
    await until("the fork is gone", async () => !(await idsNow()).includes(fork), { withinMs: hangMs });
  });

  test("a run's fork cannot be made to stay", async () => {
    const computer = await createComputer(assistant);
    const { run, fork } = await goingOn(computer);
    await refused(client.computers.promote({ computer: fork }), "wrong_state");
    await client.runs.cancel({ run });
    await until("the fork is gone", async () => !(await idsNow()).includes(fork), { withinMs: hangMs });
  });

  test("an archived computer is unpacked for a run in a fork of it", async () => {
    const computer = await createComputer(assistant);
    await client.files.write({ computer, path: "/work/input", content: "packed" });
    await client.computers.archive({ computer, wait_ms: 50_000 });
    await untilState(assistant, computer, "archived");
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "aside",
      command: "cat /work/input",
      event: true,
      place: "fork",
    });
    const ran = await client.schedules.run({ schedule, wait_ms: 50_000 });
    assert.deepEqual([ran.state, ran.woke], ["succeeded", "archived"], JSON.stringify(ran));
    assert.equal((await client.runs.output({ run: ran.id })).text, "packed");
  });

  test("what was kept of its output is read in pages that cut no character", async () => {
    const computer = await createComputer(assistant);
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "aside",
      // More than is kept, so that what is kept begins within a character.
      command: "python3 -c \"print('x' + '\u00fc\u20ac\u{1f600}' * 20000, end='')\"",
      event: true,
      place: "fork",
    });
    const ran = await client.schedules.run({ schedule, wait_ms: 50_000 });
    assert.equal(ran.state, "succeeded", JSON.stringify(ran));
    let text = "";
    for (let cursor = 0, more = true; more; ) {
      const page = await client.runs.output({ run: ran.id, cursor, max_bytes: 1001 });
      assert.ok(page.next_cursor > cursor || !page.more);
      ({ next_cursor: cursor, more } = page);
      text += page.text;
    }
    assert.ok(!text.includes("\ufffd"), `a character was cut: ${JSON.stringify(text.slice(0, 20))}`);
    assert.ok(text.length > 1000 && text.endsWith("\u00fc\u20ac\u{1f600}".repeat(100)));
  });
});
