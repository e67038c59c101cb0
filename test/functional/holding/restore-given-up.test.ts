import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import { hangMs, until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";
import { sqlOf } from "../../support/warm.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

test("a restore that cannot be ended loses nothing of what was there before it", async () => {
  const computer = await createComputer(assistant);
  await client.schedules.create({ computer, name: "nightly", command: "true", cron: "0 3 * * *" });
  const { id: snapshot } = await client.snapshots.create({ computer, name: "earlier" });
  // As if time zones had changed their names since.
  sqlOf(instance)(
    `update snapshots set definitions = jsonb_set(definitions, '{schedules,0,definition,time_zone}', '"No/Where"') where id = '${snapshot}'`,
  );
  await client.files.write({ computer, path: "/work/precious", content: "mine" });
  await assert.rejects(
    client.snapshots.restore({ computer, snapshot, what: "files_and_definitions", wait_ms: 50_000 }),
    /was not restored/,
  );
  const kept = async (): Promise<string | undefined> =>
    (await client.snapshots.list({ computer })).snapshots.find(({ kind }) => kind === "before_restore")?.id;
  await until("what was there before is a snapshot", async () => (await kept()) !== undefined, {
    withinMs: hangMs,
  });
  await client.snapshots.restore({ computer, snapshot: (await kept()) ?? "", wait_ms: 50_000 });
  assert.equal((await run(assistant, computer, "cat /work/precious")).stdout, "mine");
});
