import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient } from "@holdfast/sdk";
import { createComputer } from "../support/computer.ts";
import { refused } from "../support/projects.ts";
import { hangMs, until } from "../support/until.ts";
import { useInstance } from "../support/instance.ts";

const instance = await useInstance();
const wait_ms = 50_000;

describe("a key's ceilings hold for what is made for it, too", { concurrency: true }, () => {
  test("forks that runs go on in count as computers", async () => {
    const assistant = await instance.assistant({ computers: 2 });
    const { client } = assistant;
    const computer = await createComputer(assistant);
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "aside",
      command: "sleep 1000000",
      event: true,
      place: "fork",
    });
    const runs = await Promise.all([1, 2, 3, 4].map(() => client.schedules.run({ schedule })));
    const states = async () =>
      Promise.all(runs.map(async ({ id }) => (await client.runs.get({ run: id })).state));
    await until(
      "one goes on, and the others were refused",
      async () => {
        const now = await states();
        return now.filter((one) => one === "running").length === 1 && !now.includes("queued");
      },
      { withinMs: hangMs },
    );
    assert.equal((await client.computers.list({})).computers.length, 2);
    const failed = (await client.runs.list({ schedule, failed: true })).runs;
    assert.equal(failed.length, 3);
    for (const { reason } of failed) assert.match(reason ?? "", /ceiling is 2/);
  });

  test("a helper gets no computer by a run in a fork", async () => {
    const assistant = await instance.assistant({ computers: 3 });
    const parent = await createComputer(assistant);
    const made = await assistant.client.children.create({ computer: parent, name: "child-of-runs", wait_ms });
    const helper = createClient({ baseUrl: instance.url, token: made.secret, retries: 0 });
    const fields = { computer: made.computer.id, name: "aside", command: "true", event: true } as const;
    const { id: schedule } = await helper.schedules.create({ ...fields, place: "fork" });
    const ran = await helper.schedules.run({ schedule, wait_ms: 20_000 });
    assert.deepEqual([ran.state, ran.fork], ["failed", null], JSON.stringify(ran));
  });

  test("snapshots by a helper count for whose the parent is", async () => {
    const assistant = await instance.assistant({ snapshots: 1 });
    const parent = await createComputer(assistant);
    const made = await assistant.client.children.create({ computer: parent, name: "child-of-one", wait_ms });
    const helper = createClient({ baseUrl: instance.url, token: made.secret, retries: 0 });
    await assistant.client.snapshots.create({ computer: parent, name: "first" });
    await refused(helper.snapshots.create({ computer: made.computer.id, name: "second" }), "ceiling_reached");
  });

  test("automatic snapshots are no more than its key may have", async () => {
    const assistant = await instance.assistant({ snapshots: 1 });
    const other = await instance.assistant();
    const keep = { keep_hourly: 1, keep_daily: 1, keep_weekly: 1 };
    const computer = await createComputer(assistant, keep);
    // Looked at behind it.
    const later = await createComputer(other, keep);
    await until(
      "the one behind has all of its own",
      async () => (await other.client.snapshots.list({ computer: later })).snapshots.length === 3,
      { withinMs: 2 * hangMs },
    );
    assert.equal((await assistant.client.snapshots.list({ computer })).snapshots.length, 1);
  });

  test("a helper calls its child nothing that whose the parent is sees already", async () => {
    const assistant = await instance.assistant();
    const { client } = assistant;
    const parent = await createComputer(assistant);
    const { name } = await client.computers.get({ computer: parent });
    const made = await client.children.create({ computer: parent, name: "child-of-names", wait_ms });
    await client.children.create({ computer: parent, name: "sibling-of-names", wait_ms });
    const helper = createClient({ baseUrl: instance.url, token: made.secret, retries: 0 });
    for (const taken of [name, "sibling-of-names"])
      await refused(
        helper.computers.update({ computer: made.computer.id, name: taken, if_match: "1" }),
        "name_taken",
      );
    const renamed = await helper.computers.update({
      computer: made.computer.id,
      name: "free-of-names",
      if_match: "1",
    });
    assert.equal(renamed.name, "free-of-names");
  });
});
