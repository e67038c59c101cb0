import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HoldfastApiError } from "@holdfast/sdk";
import { createComputer, run } from "../../support/computer.ts";
import { runsOf, settledRuns, slotTimes } from "../../support/holding.ts";
import { hangMs, until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { assistant } = await useAssistant();
const { client } = assistant;

describe("operations of schedules and runs", { concurrency: true }, () => {
  test("output is read from a cursor, each stream in its order, also of a run that goes on", async () => {
    const computer = await createComputer(assistant);
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "talks",
      command:
        "echo $HOLDFAST_RUN $HOLDFAST_ATTEMPT; echo err >&2; echo -n zwölf; while [ ! -e /work/go ]; do sleep 0.1; done; echo end",
      event: true,
    });
    const begun = await client.schedules.run({ schedule, wait_ms: 0 });
    const read = (cursor: number, max = 65_536) =>
      client.runs.output({ run: begun.id, cursor, max_bytes: max });
    let said = "";
    const hasSpoken = async () => {
      said = (await read(0)).text;
      return said.includes("err\n") && said.includes("zwölf");
    };
    await until("it has spoken", hasSpoken, { withinMs: hangMs });
    // Two pipes: which of them is read first is nobody's promise.
    assert.equal(said.replace("err\n", ""), `${begun.id} 1\nzwölf`);
    const first = await read(0, 10);
    assert.ok(first.more);
    const rest = await read(first.next_cursor);
    assert.equal(first.text + rest.text, said);
    await client.files.write({ computer, path: "/work/go", content: "" });
    const ended = await client.runs.get({ run: begun.id, wait_ms: 30_000 });
    assert.equal(ended.state, "succeeded", JSON.stringify(ended));
    const last = await read(rest.next_cursor);
    assert.deepEqual([last.text, last.more], ["end\n", false]);
    assert.equal(ended.output_bytes, last.next_cursor);
    assert.ok((ended.duration_ms ?? -1) >= 0);
  });

  test("cancelling ends a run with all it started, and takes one that waits out of the line", async () => {
    const computer = await createComputer(assistant);
    const { id: schedule } = await client.schedules.create({
      computer,
      name: "long",
      command: "trap '' TERM; setsid sleep 1000 & sleep 1000; sleep 1000",
      event: true,
      overlap: "queue",
    });
    const going = await client.schedules.run({ schedule, wait_ms: 0 });
    await until("it runs", async () => (await client.runs.get({ run: going.id })).state === "running", {
      withinMs: hangMs,
    });
    const waits = await client.schedules.run({ schedule, wait_ms: 0 });
    assert.deepEqual([waits.state, waits.process], ["queued", null]);
    const out = await client.runs.cancel({ run: waits.id });
    assert.deepEqual([out.state, out.started_at], ["cancelled", null]);
    await client.runs.cancel({ run: going.id });
    const ended = await client.runs.get({ run: going.id, wait_ms: 30_000 });
    assert.deepEqual([ended.state, ended.exit?.kind], ["cancelled", "signaled"], JSON.stringify(ended));
    const { stdout } = await run(assistant, computer, "pgrep -c sleep || true");
    assert.equal(stdout.trim(), "0", "nothing of it is left");
    const failed = await client.runs.list({ schedule, failed: true });
    assert.deepEqual(failed.runs, []);
  });

  test("a schedule of a project runs in its folder, is shown with it, and goes with it", async () => {
    const computer = await createComputer(assistant);
    const project = await client.projects.create({ computer, name: "shop", template: "static-site" });
    const schedule = await client.schedules.create({
      project: project.id,
      name: "reports",
      argv: ["/bin/sh", "-c", "pwd > where; exit 5"],
      cron: "0 4 * * 1",
      time_zone: "Europe/Berlin",
    });
    assert.equal(schedule.project, project.id);
    const ran = await client.schedules.run({ schedule: schedule.id, wait_ms: 30_000 });
    assert.deepEqual([ran.state, ran.exit], ["failed", { kind: "exited", code: 5 }], JSON.stringify(ran));
    assert.equal((await run(assistant, computer, "cat /work/shop/where")).stdout, "/work/shop\n");
    const shown = await client.projects.get({ project: project.id });
    assert.deepEqual(
      shown.schedules.map(({ name, state, next_slot, last_run }) => [name, state, next_slot, last_run?.id]),
      [["reports", "active", schedule.next_slot, ran.id]],
    );
    await client.projects.destroy({ project: project.id });
    await assert.rejects(client.schedules.get({ schedule: schedule.id }), { code: "not_found" });
  });

  test("a change takes effect from the next slot on; what runs keeps what it began with", async () => {
    const computer = await createComputer(assistant);
    const made = await client.schedules.create({
      computer,
      name: "changes",
      command: "echo old >> /work/said; sleep 3; echo old-end >> /work/said",
      every_ms: 3_600_000,
      environment: { A: "1" },
    });
    const going = client.schedules.run({ schedule: made.id, wait_ms: 30_000 });
    await until(
      "it runs",
      async () => (await run(assistant, computer, "cat /work/said || true")).stdout === "old\n",
      {
        withinMs: hangMs,
      },
    );
    const changed = await client.schedules.update({
      schedule: made.id,
      command: "echo new-$A-$B >> /work/said",
      environment: { B: "2" },
      every_ms: 2000,
      if_match: made.version,
    });
    assert.notEqual(changed.version, made.version);
    await assert.rejects(
      client.schedules.update({ schedule: made.id, every_ms: 5000, if_match: made.version }),
      (error: HoldfastApiError) => error.code === "version_mismatch",
    );
    assert.equal((await going).state, "succeeded");
    await until("a slot has come", async () => slotTimes(await runsOf(assistant, made.id)).length > 0, {
      withinMs: hangMs,
    });
    await settledRuns(assistant, made.id);
    const { stdout } = await run(assistant, computer, "sort -u /work/said");
    assert.equal(stdout, "new--2\nold\nold-end\n");
  });

  test("a computer that is destroyed takes its schedules along, and another of the name begins without any", async () => {
    const computer = await createComputer(assistant);
    const { id } = await client.schedules.create({
      computer,
      name: "gone",
      command: "sleep 100",
      every_ms: 1000,
    });
    await until(
      "it runs",
      async () => (await runsOf(assistant, id)).some(({ state }) => state === "running"),
      {
        withinMs: hangMs,
      },
    );
    await client.computers.destroy({ computer });
    await assert.rejects(client.schedules.get({ schedule: id }), { code: "not_found" });
    await assert.rejects(client.schedules.list({ computer }), { code: "not_found" });
  });
});
