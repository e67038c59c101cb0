import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { createIds, systemClock } from "@holdfast/kit";
import { useCellHost } from "../support/cell-host.ts";
import { untilValue } from "../support/until.ts";

const host = await useCellHost();

/** Nothing of a computer outlives it. */
afterEach(async () => {
  const { volumes } = await host.control.call("volume.list", {});
  for (const { computer_id } of volumes) await host.control.call("volume.destroy", { computer_id });
  assert.deepEqual(await host.leftovers([]), []);
});

const newId = createIds(systemClock);
const size = "small" as const;
const call = host.control.call;

const start = (computer_id: string, trees: Parameters<typeof call<"cell.start">>[1]["trees"] = []) =>
  call("cell.start", { computer_id, size, lease_ms: 600_000, trees });
const stop = (computer_id: string) => call("cell.stop", { computer_id });
const shell = async (id: string, line: string): Promise<string> => {
  const { code, stdout, stderr } = await host.exec(id, ["/bin/sh", "-ec", line]);
  assert.equal(code, 0, `${line}: ${stderr}`);
  return stdout.trim();
};
const snapshot = async (computer_id: string): Promise<string> => {
  const snapshot_id = newId("snapshot");
  assert.equal((await call("snapshot.create", { computer_id, snapshot_id })).created, true);
  return snapshot_id;
};

test("a snapshot holds what was written before it, and a fork of it is a computer of its own", async () => {
  const id = await host.newComputer();
  await shell(id, "echo one > /work/file; echo changed > /etc/motd; rm /etc/issue");
  const snapshot_id = await snapshot(id);
  await shell(id, "echo two > /work/file");
  assert.equal((await call("snapshot.create", { computer_id: id, snapshot_id })).created, false);
  assert.deepEqual(
    (await call("snapshot.list", {})).snapshots.map((one) => [one.snapshot_id, one.computer_id]),
    [[snapshot_id, id]],
  );

  const fork = newId("computer");
  const forking = { computer_id: fork, size, snapshot_id };
  const { created, image } = await call("volume.fork", forking);
  assert.deepEqual([created, (await call("volume.fork", forking)).created], [true, false]);
  assert.equal(image, (await call("info", {})).image);
  await start(fork);
  assert.equal(await shell(fork, "cat /work/file /etc/motd; test ! -e /etc/issue"), "one\nchanged");
  await shell(fork, "echo fork > /work/file");
  assert.equal(await shell(id, "cat /work/file"), "two", "what one changes the other does not see");

  assert.equal((await call("snapshot.delete", { snapshot_id })).deleted, true);
  assert.equal((await call("snapshot.delete", { snapshot_id })).deleted, false);
  await stop(fork);
  await start(fork);
  assert.equal(await shell(fork, "cat /work/file"), "fork", "it does not need its snapshot");
  await assert.rejects(call("volume.fork", { ...forking, computer_id: newId("computer") }), {
    code: "not_found",
  });
});

test("what a snapshot keeps counts on its computer's disk, and a fork counts in full", async () => {
  const id = await host.newComputer();
  const held = async (computer_id: string): Promise<number> =>
    (await call("usage.read", { computer_id })).usage?.disk_bytes ?? 0;
  const megabytes = 20;
  await shell(id, `head -c ${megabytes}M /dev/urandom > /work/file; sync`);
  const snapshot_id = await snapshot(id);
  await shell(id, "rm /work/file; sync");
  const kept = await untilValue("it is counted", async () => {
    const bytes = await held(id);
    return bytes > megabytes * 1e6 ? bytes : undefined;
  });
  const fork = newId("computer");
  await call("volume.fork", { computer_id: fork, size, snapshot_id });
  await untilValue("the fork is counted", async () =>
    (await held(fork)) > megabytes * 1e6 ? true : undefined,
  );
  assert.ok((await held(id)) <= kept + 1e6, "once on the computer, however many share it");
  // A snapshot of a fork is one of the copies that make the kernel lose count.
  await snapshot(fork);
  await untilValue("all is counted", async () =>
    (await held(fork)) > megabytes * 1e6 && (await held(id)) > megabytes * 1e6 ? true : undefined,
  );
});

test("destroying erases the volume with its snapshots and says so", async () => {
  const id = await host.newComputer();
  const other = await host.newComputer();
  for (const computer of [id, id, other]) await snapshot(computer);
  assert.deepEqual(await call("volume.destroy", { computer_id: id }), {
    destroyed: true,
    erased: { volumes: 1, snapshots: 2, archives: 0 },
  });
  assert.deepEqual(await host.leftovers([other]), []);
  assert.equal((await call("snapshot.list", {})).snapshots.length, 1);
  assert.deepEqual((await call("volume.destroy", { computer_id: id })).erased, {
    ...{ volumes: 0, snapshots: 0, archives: 0 },
  });
});
