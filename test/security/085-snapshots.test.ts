import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer, run } from "../support/computer.ts";
import { untilState } from "../support/holding.ts";
import type { Assistant } from "../support/instance.ts";
import { until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

const allocates = async (of: Assistant, computer: string, line: string): Promise<boolean> =>
  (await run(of, computer, line)).process.exit_code === 0;

test("85, lifecycle 5: snapshots count towards a computer's disk, so it cannot grow by them; deleting them frees it", async () => {
  const computer = await createComputer(assistant);
  assert.ok(await allocates(assistant, computer, "fallocate -l 3G /work/first && sync"));
  await client.snapshots.create({ computer, name: "holds-it" });
  await run(assistant, computer, "rm /work/first && sync");
  assert.equal(
    await allocates(assistant, computer, "fallocate -l 3G /work/second && sync"),
    false,
    "6 GiB on a disk of 5",
  );
  assert.equal(
    (await run(assistant, computer, "echo works; ls /work | wc -l")).stdout.split("\n")[0],
    "works",
  );
  await run(assistant, computer, "rm -f /work/second");
  await client.snapshots.delete({ computer, snapshot: "holds-it" });
  await until(
    "the space is free again",
    () => allocates(assistant, computer, "fallocate -l 3G /work/second && sync"),
    {
      withinMs: 60_000,
    },
  );
  await client.computers.destroy({ computer });
});

test("85: on a full disk snapshot, restore, fork and archive work or say that it is full, and lose nothing", async () => {
  const computer = await createComputer(assistant);
  await client.snapshots.create({ computer, name: "empty" });
  await run(
    assistant,
    computer,
    "echo kept > /work/kept; sync; fallocate -l 4G /work/big; head -c 2G /dev/zero > /work/fill; sync",
  );
  const name = "when-full";
  const taken = await client.snapshots.create({ computer, name }).then(
    () => true,
    ({ code }: { readonly code?: string }) => {
      assert.ok(code === "disk_full" || code === "host_full" || code === "computer_failed", code);
      return false;
    },
  );
  assert.equal((await run(assistant, computer, "cat /work/kept")).stdout, "kept\n");
  const listed = (await client.snapshots.list({ computer })).snapshots.some((one) => one.name === name);
  assert.equal(listed, taken, "a snapshot that failed is not there");
  await client.computers.sleep({ computer });
  assert.equal((await client.computers.wake({ computer })).state, "awake");
  await client.computers.stop({ computer });
  assert.equal(
    (await run(assistant, computer, "cat /work/kept")).stdout,
    "kept\n",
    "it starts though it is full",
  );
  const { before, computer: now } = await client.snapshots.restore({
    computer,
    snapshot: "empty",
    wait_ms: 50_000,
  });
  assert.equal(now.state, "awake", now.reason ?? "");
  assert.equal((await run(assistant, computer, "ls -A /work")).stdout, "");
  for (const snapshot of [before, ...(taken ? [name] : [])])
    await client.snapshots.delete({ computer, snapshot });
  await until(
    "the space is free again",
    () => allocates(assistant, computer, "fallocate -l 3G /work/more && sync && rm /work/more"),
    {
      withinMs: 60_000,
    },
  );
  await run(assistant, computer, "echo kept > /work/kept; head -c 200M /dev/urandom > /work/random");
  await client.computers.archive({ computer, wait_ms: 50_000 });
  await untilState(assistant, computer, "archived", 120_000);
  assert.equal(
    (await run(assistant, computer, "cat /work/kept; wc -c < /work/random")).stdout,
    "kept\n209715200\n",
  );
  const { programs } = { programs: await instance.programs() };
  assert.ok(Object.values(programs).every(({ ready }) => ready));
  await client.computers.destroy({ computer });
});
