import assert from "node:assert/strict";
import { test } from "node:test";
import type { HoldfastApiError } from "@holdfast/sdk";
import { createComputer, run } from "../../support/computer.ts";
import { untilOnlyListed } from "../../support/holding.ts";
import { until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

const invalid = (work: Promise<unknown>, field: string): Promise<void> =>
  assert.rejects(work, (error: HoldfastApiError) => {
    assert.equal(error.code, "invalid_input", `${field}: ${error.code} ${error.message}`);
    assert.ok(JSON.stringify(error.details).includes(field), `${field}: ${JSON.stringify(error.details)}`);
    return true;
  });

/** Times that are no times. */
const times = [-1, 0.5, 1e15, Number.MAX_SAFE_INTEGER];

test("lifecycle 7: zero, negative, huge and fractional times are refused with a message", async () => {
  const computer = await createComputer(assistant);
  const { version } = await client.computers.get({ computer });
  for (const ms of [...times, 1, 9999]) {
    for (const field of ["sleep_after_ms", "stop_after_ms", "archive_after_ms"])
      await invalid(client.computers.update({ computer, [field]: ms, if_match: version }), field);
    await invalid(client.computers.create({ name: "never", sleep_after_ms: ms }), "sleep_after_ms");
  }
  for (const ms of [...times, 0, 999]) {
    await invalid(client.computers.create({ name: "never", lifetime_ms: ms }), "lifetime_ms");
    await invalid(client.holds.create({ computer, reason: "x", for_ms: ms }), "for_ms");
    const timing = { computer, name: "never", command: "true" };
    await invalid(client.schedules.create({ ...timing, every_ms: ms }), "every_ms");
    await invalid(client.schedules.create({ ...timing, event: true, timeout_ms: ms }), "timeout_ms");
    await invalid(
      client.schedules.create({ ...timing, event: true, retry_backoff_ms: ms }),
      "retry_backoff_ms",
    );
  }
  for (const ms of times) {
    await invalid(client.computers.fork({ computer, name: "never", wait_ms: ms }), "wait_ms");
    await invalid(client.snapshots.restore({ computer, snapshot: "none", wait_ms: ms }), "wait_ms");
    for (const verb of ["sleep", "wake", "stop", "archive"] as const)
      await invalid(client.computers[verb]({ computer, wait_ms: ms }), "wait_ms");
  }
  for (const [field, value] of [
    ["keep_hourly", -1],
    ["keep_daily", 0.5],
    ["keep_weekly", 1e9],
  ] as const)
    await invalid(client.computers.update({ computer, [field]: value, if_match: version }), field);
  assert.equal((await client.computers.get({ computer })).version, version, "nothing was changed");
  assert.deepEqual((await client.schedules.list({ computer })).schedules, []);
});

test("a timing that is none, or two at once, is refused before anything is made", async () => {
  const computer = await createComputer(assistant);
  const base = { computer, name: "never", command: "true" };
  for (const timing of [
    {},
    { cron: "* * * * *", every_ms: 5000 },
    { cron: "61 * * * *" },
    { cron: "* * * *" },
    { cron: "0 0 30 2 *" },
    { cron: "* * * * *", time_zone: "Mars/Olympus" },
    { at: "2001-01-01T00:00:00Z" },
    { at: "tomorrow" },
  ])
    await assert.rejects(
      client.schedules.create({ ...base, ...timing }),
      (error: HoldfastApiError) => {
        assert.equal(error.code, "invalid_input", `${JSON.stringify(timing)}: ${error.code}`);
        return true;
      },
      JSON.stringify(timing),
    );
  assert.deepEqual((await client.schedules.list({ computer })).schedules, []);
});

test("lifecycle 1: the same idempotency key, also at once, is one snapshot, one fork, one child, one schedule", async () => {
  const computer = await createComputer(assistant);
  const sameThing = async (
    make: (options: { readonly idempotencyKey: string }) => Promise<{ readonly id: string }>,
    key: string,
  ): Promise<void> => {
    const options = { idempotencyKey: `${key}-${computer}` };
    const made = await Promise.all(
      [1, 2, 3, 4].map(() => make(options).catch((error: unknown) => error as HoldfastApiError)),
    );
    const { id } = await make(options);
    for (const one of made)
      if (one instanceof Error) assert.equal(one.code, "operation_running", `${key}: ${one.message}`);
      else assert.equal(one.id, id, key);
  };
  await sameThing((options) => client.snapshots.create({ computer, name: "once" }, options), "snapshot");
  await sameThing(
    (options) => client.computers.fork({ computer, name: "once-fork", wait_ms: 40_000 }, options),
    "fork",
  );
  await sameThing(
    async (options) =>
      (await client.children.create({ computer, name: "once-child", wait_ms: 40_000 }, options)).computer,
    "child",
  );
  await sameThing(
    (options) => client.schedules.create({ computer, name: "once", command: "true", event: true }, options),
    "schedule",
  );
  await assert.rejects(
    client.snapshots.create({ computer, name: "other" }, { idempotencyKey: `snapshot-${computer}` }),
    { code: "idempotency_mismatch" },
  );
  const { computers } = await client.computers.list({ limit: 200 });
  assert.deepEqual(
    computers
      .map(({ name }) => name)
      .filter((name) => name.startsWith("once-"))
      .sort(),
    ["once-child", "once-fork"],
  );
  assert.equal((await client.snapshots.list({ computer })).snapshots.length, 1);
  for (const name of ["once-fork", "once-child"]) await client.computers.destroy({ computer: name });
});

test("lifecycle 2: an import that fails leaves nothing behind, and what is whole makes a computer of the same name", async () => {
  const computer = await createComputer(assistant);
  await run(
    assistant,
    computer,
    "head -c 3000000 /dev/urandom > /work/data; sha256sum /work/data > /root/sum",
  );
  await client.snapshots.create({ computer, name: "whole" });
  const { stream } = await client.snapshots.export({ computer, snapshot: "whole" });
  const file = new Uint8Array(await new Response(stream).arrayBuffer());
  const broken = file.slice();
  const middle = Math.floor(broken.length / 2);
  broken[middle] = (broken[middle] ?? 0) ^ 0xff;
  const name = "imported";
  for (const bytes of [
    broken,
    file.slice(0, middle),
    new TextEncoder().encode("no export at all"),
    new Uint8Array(),
  ]) {
    await assert.rejects(
      client.snapshots.import({ name }, new Blob([bytes]).stream()),
      (error: HoldfastApiError) => {
        assert.ok(
          ["archive_refused", "invalid_input"].includes(error.code),
          `${error.code} ${error.message}`,
        );
        return true;
      },
    );
    await until("it is not listed", async () =>
      (await client.computers.list({ limit: 200 })).computers.every((one) => one.name !== name),
    );
    await untilOnlyListed(instance);
  }
  const made = await client.snapshots.import({ name }, new Blob([file]).stream());
  const look = await run(assistant, made.id, "sha256sum -c /root/sum");
  assert.equal(look.stdout, "/work/data: OK\n", look.stderr);
  await client.computers.destroy({ computer: made.id });
});

test("lifecycle 2: what a ceiling refuses leaves nothing behind", async () => {
  const small = await instance.assistant({ computers: 1, snapshots: 1, largest_size: "small" });
  const computer = await createComputer(small);
  await small.client.snapshots.create({ computer, name: "one" });
  for (const refused of [
    () => small.client.snapshots.create({ computer, name: "two" }),
    () => small.client.computers.fork({ computer, name: "fork" }),
    () => small.client.computers.fork({ computer, name: "fork", size: "large" }),
    () => small.client.children.create({ computer, name: "child" }),
  ])
    await assert.rejects(refused(), { code: "ceiling_reached" });
  assert.equal((await small.client.computers.list()).computers.length, 1);
  assert.equal((await small.client.snapshots.list({ computer })).snapshots.length, 1);
  await small.client.snapshots.delete({ computer, snapshot: "one" });
  assert.equal((await small.client.snapshots.create({ computer, name: "two" })).name, "two");
});
