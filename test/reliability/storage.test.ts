import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { promisify } from "node:util";
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

test("subvolumes inside a volume, which would be missing in a copy, refuse it; nothing is left of the try", async () => {
  const id = newId("computer");
  await call("volume.create", { computer_id: id, size });
  const nested = join(host.places.pool, "supervisor/computers", id, "work/nested");
  const btrfs = (verb: string) => promisify(execFile)("btrfs", ["subvolume", verb, nested]);
  await btrfs("create");
  const snapshot_id = newId("snapshot");
  const refused = { code: "computer_failed", details: { reason: "nested_subvolumes" } };
  const create = () => call("snapshot.create", { computer_id: id, snapshot_id });
  await assert.rejects(create(), refused);
  await assert.rejects(call("volume.destroy", { computer_id: id }), { code: "computer_failed" });
  assert.deepEqual((await call("snapshot.list", {})).snapshots, []);
  assert.deepEqual(await host.leftovers([id]), []);
  await btrfs("delete");
  assert.equal((await create()).created, true);
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
    volumes: 0,
    snapshots: 0,
    archives: 0,
  });
});

test("a cell is shown what another computer has, and what it had, to read and not to run", async () => {
  const id = await host.newComputer();
  const line =
    "echo one > /work/file; mkdir /opt/own; echo changed > /etc/motd; rm /etc/issue; rm -r /usr/share/misc; " +
    "cp /bin/true /work/true; chmod 4755 /work/true; mkfifo /work/pipe";
  await shell(id, line);
  const before = await snapshot(id);
  await shell(id, "echo two > /work/file");
  const looking = newId("computer");
  await call("volume.create", { computer_id: looking, size });
  const trees = [
    { name: "a" as const, source: { snapshot_id: before } },
    { name: "b" as const, source: { volume_of: id } },
  ];
  await assert.rejects(start(looking, trees), { code: "wrong_state" }, "it has a cell");
  await stop(id);
  await start(looking, trees);
  assert.equal(await shell(looking, "cat /trees/a/work/file /trees/b/work/file"), "one\ntwo");
  const merged =
    "cat etc/motd; test ! -e etc/issue; test ! -e usr/share/misc; test -d opt/own; test -e bin/sh";
  for (const tree of ["a", "b"])
    assert.equal(await shell(looking, `cd /trees/${tree}/root; ${merged}`), "changed");
  assert.equal(
    await shell(looking, "cd /trees/a/changes; cat etc/motd; test ! -e bin/sh; stat -c %F etc/issue"),
    ["changed", "character special file"].join("\n"),
  );
  assert.equal(await shell(looking, "stat -c '%u:%g %a' /trees/a/work/true"), "0:0 4755");
  for (const refused of [
    "echo no > /trees/a/work/file",
    "rm /trees/b/changes/etc/motd",
    "touch /trees/b/root/new",
  ])
    assert.notEqual((await host.exec(looking, ["/bin/sh", "-ec", refused])).code, 0, refused);
  await assert.rejects(host.exec(looking, ["/trees/a/work/true"]), { code: "spawn_failed" });
  const mounts = await shell(looking, "grep ' /trees/' /proc/self/mounts");
  assert.equal(mounts.split("\n").length, 6);
  for (const mount of mounts.split("\n")) assert.match(mount, / ro,nosuid,nodev,noexec/);

  assert.equal(
    (await call("snapshot.delete", { snapshot_id: before })).deleted,
    true,
    "also while it is shown",
  );
  await call("volume.destroy", { computer_id: looking });
  await start(id);
  assert.equal(await shell(id, "cat /work/file; test ! -e /trees"), "two");
});

test("what a cell may not be shown is refused before anything of it is made", async () => {
  const id = await host.newComputer();
  await stop(id);
  const looking = newId("computer");
  await call("volume.create", { computer_id: looking, size });
  const refused = [
    [{ name: "a", source: { snapshot_id: newId("snapshot") } }, "not_found"],
    [{ name: "a", source: { volume_of: newId("computer") } }, "not_found"],
    [{ name: "archive", source: { archive_of: id } }, "wrong_state"],
    [{ name: "archive", source: { volume_of: id } }, "invalid_input"],
  ] as const;
  for (const [tree, code] of refused) await assert.rejects(start(looking, [tree]), { code });
  const twice = { name: "b", source: { volume_of: id } } as const;
  await assert.rejects(start(looking, [twice, twice]), { code: "invalid_input" });
  assert.deepEqual(
    (await host.leftovers([])).filter((trace) => /^(cgroup|process|mount|link)/.test(trace)),
    [],
  );
});

test("a computer is restored whole, once for each restoring, and only without a cell", async () => {
  const id = await host.newComputer();
  await shell(id, "echo one > /work/file; echo one > /etc/motd");
  const snapshot_id = await snapshot(id);
  await shell(id, "rm /work/file; echo two > /etc/motd; touch /work/new");
  const restoring = { computer_id: id, snapshot_id, restore_id: newId("snapshot") };
  await assert.rejects(call("volume.restore", restoring), { code: "wrong_state" });
  await stop(id);
  assert.deepEqual(await call("volume.restore", restoring), { restored: true });
  await start(id);
  assert.equal(await shell(id, "cat /work/file /etc/motd; ls /work"), "one\none\nfile");
  await shell(id, "echo three > /work/file");
  await stop(id);
  assert.deepEqual(await call("volume.restore", restoring), { restored: false });
  await start(id);
  assert.equal(await shell(id, "cat /work/file"), "three", "the same again does nothing");
  await stop(id);
  assert.deepEqual(await call("volume.restore", { ...restoring, restore_id: newId("snapshot") }), {
    restored: true,
  });

  const other = await host.newComputer();
  await stop(other);
  await assert.rejects(call("volume.restore", { ...restoring, computer_id: other }), { code: "wrong_state" });
  const absent = { ...restoring, snapshot_id: newId("snapshot"), restore_id: newId("snapshot") };
  await assert.rejects(call("volume.restore", absent), { code: "not_found" });
});

/** As control does it, with a copy for a pack. */
const pack = async (id: string): Promise<void> => {
  const packing = newId("computer");
  await call("archive.open", { computer_id: id });
  await call("volume.create", { computer_id: packing, size });
  await start(packing, [
    { name: "a", source: { volume_of: id } },
    { name: "archive", source: { archive_of: id } },
  ]);
  await shell(packing, "tar -C /trees/a/work -cf /trees/archive/pack .");
  await assert.rejects(call("archive.seal", { computer_id: id }), { code: "wrong_state" });
  await call("volume.destroy", { computer_id: packing });
};

const unpack = async (id: string): Promise<void> => {
  await call("archive.unpack", { computer_id: id });
  await assert.rejects(start(id), { code: "wrong_state" }, "only to unpack it");
  await start(id, [{ name: "archive", source: { archive_of: id } }]);
  await shell(id, "! touch /trees/archive/new 2>/dev/null; tar -C /work -xf /trees/archive/pack");
  await assert.rejects(call("archive.unpacked", { computer_id: id }), { code: "wrong_state" });
  await stop(id);
  assert.deepEqual(await call("archive.unpacked", { computer_id: id }), { done: true });
};

test("a computer is archived and comes back, and is one or the other all the time", async () => {
  const id = await host.newComputer();
  await shell(id, "echo kept > /work/file; chown 1000:1000 /work/file");
  await assert.rejects(call("archive.open", { computer_id: id }), { code: "wrong_state" });
  await stop(id);
  await assert.rejects(call("archive.seal", { computer_id: id }), { code: "wrong_state" });
  await assert.rejects(call("archive.unpack", { computer_id: id }), { code: "wrong_state" });
  await pack(id);
  assert.deepEqual(await call("archive.seal", { computer_id: id }), { sealed: true });
  assert.deepEqual(await call("archive.seal", { computer_id: id }), { sealed: false });
  assert.deepEqual(
    (await call("volume.list", {})).volumes.map(({ computer_id, archived }) => [computer_id, archived]),
    [[id, true]],
  );
  assert.ok(((await call("usage.read", { computer_id: id })).usage?.disk_bytes ?? 0) > 0);
  for (const refused of [
    () => start(id),
    () => call("snapshot.create", { computer_id: id, snapshot_id: newId("snapshot") }),
    () => call("archive.open", { computer_id: id }),
    () => call("archive.unpacked", { computer_id: id }),
  ])
    await assert.rejects(refused(), { code: "wrong_state" });
  assert.deepEqual(await call("archive.drop", { computer_id: id }), { dropped: false });
  await call("volume.resize", { computer_id: id, size: "medium" });

  // Begun and broken off: what was unpacked by then counts for nothing.
  await call("archive.unpack", { computer_id: id });
  await start(id, [{ name: "archive", source: { archive_of: id } }]);
  await shell(id, "echo half > /work/half");
  await unpack(id);
  assert.deepEqual(await call("archive.unpacked", { computer_id: id }), { done: false });
  await start(id);
  assert.equal(
    await shell(id, "cat /work/file; ls /work; stat -c %u /work/file; test ! -e /trees"),
    "kept\nfile\n1000",
  );
});

test("a place for an archive goes when its computer starts, and when it is dropped or opened anew", async () => {
  const id = await host.newComputer();
  await stop(id);
  await pack(id);
  await start(id);
  await stop(id);
  await assert.rejects(
    call("archive.seal", { computer_id: id }),
    { code: "wrong_state" },
    "it has run since",
  );
  await pack(id);
  await pack(id);
  assert.deepEqual(await call("archive.drop", { computer_id: id }), { dropped: true });
  assert.deepEqual(await call("archive.drop", { computer_id: id }), { dropped: false });
  await start(id);
  await stop(id);
  await pack(id);
  await call("archive.seal", { computer_id: id });
  assert.deepEqual((await call("volume.destroy", { computer_id: id })).erased, {
    volumes: 0,
    snapshots: 0,
    archives: 1,
  });
});
