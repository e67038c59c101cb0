import assert from "node:assert/strict";
import { chmod, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

test("cells live on when the supervisor is killed, frozen ones too, and are adopted with their leases", async () => {
  const [awake, asleep] = [await host.newComputer(), await host.newComputer()];
  await host.control.call("cell.freeze", { computer_id: asleep });
  const first = await host.exec(awake, ["/bin/sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!"]);
  const before = await host.control.call("cell.list", {});

  await host.kill();
  const still = await host.exec(awake, ["/bin/kill", "-0", first.stdout.trim()]);
  assert.equal(still.code, 0, "the process in the cell was not touched");
  await host.start();

  const { cells } = await host.control.call("cell.list", {});
  const facts = (list: typeof cells): unknown =>
    list.map(({ computer_id, cell_id, state }) => ({ computer_id, cell_id, state }));
  assert.deepEqual(facts(cells), facts(before.cells));
  const running = cells.find((cell) => cell.computer_id === awake);
  assert.ok(running && running.lease_ends_in_ms > 500_000, "the lease goes on");
  await host.control.call("cell.thaw", { computer_id: asleep, lease_ms: 60_000 });
  assert.equal((await host.exec(asleep, ["/bin/true"])).code, 0);
});

test("the sockets of an adopted cell get the groups of today's callers, and it is reached as before", async () => {
  const id = await host.newComputer();
  const directory = join(host.places.cells, id);
  const seen = async (): Promise<readonly string[]> =>
    Promise.all(
      [directory, join(directory, "control.sock"), join(directory, "ingress.sock")].map(async (path) => {
        const { uid, gid, mode } = await stat(path);
        return `${uid}:${gid} ${(mode & 0o7777).toString(8)}`;
      }),
    );
  assert.deepEqual(await seen(), ["0:0 711", "0:0 660", "0:0 660"]);
  await host.kill();
  // As a supervisor from before there was a gateway left it.
  await chmod(directory, 0o750);
  await host.start({ flags: ["--control-gid", "60001", "--gateway-gid", "60002"] });
  assert.deepEqual(await seen(), ["0:0 711", "0:60001 660", "0:60002 660"]);
  assert.equal((await host.exec(id, ["/bin/true"])).code, 0);
  await host.kill();
  await host.start();
  assert.deepEqual(await seen(), ["0:0 711", "0:0 660", "0:0 660"]);
});

test("a cell whose lease ends is frozen, by the supervisor's own clock", async () => {
  const id = await host.newComputer();
  const { cells } = await host.control.call("cell.list", {});
  const cell_id = cells.find((cell) => cell.computer_id === id)?.cell_id ?? "";
  const { next } = await host.control.call("events.wait", { after: 0, wait_ms: 0 });
  const renewed = await host.control.call("lease.renew", {
    cells: [{ computer_id: id, cell_id }],
    lease_ms: 200,
  });
  assert.deepEqual(renewed.missing, []);
  const kinds: string[] = [];
  for (let from = next; !kinds.includes("lease_ended"); ) {
    const waited = await host.control.call("events.wait", { after: from, wait_ms: 10_000 });
    assert.ok(waited.events.length > 0, "an event within ten seconds");
    kinds.push(...waited.events.filter((event) => event.computer_id === id).map((event) => event.kind));
    from = waited.next;
  }
  const state = (await host.control.call("cell.list", {})).cells.find(
    (cell) => cell.computer_id === id,
  )?.state;
  assert.equal(state, "frozen");
});

test("a lease ends also while the supervisor cannot serve, and the computer goes on once it can", async () => {
  const [ending, going] = [await host.newComputer(), await host.newComputer()];
  await host.kill();
  const path = join(host.places.run, "supervisor-state/cells", `${ending}.json`);
  const record = JSON.parse(await readFile(path, "utf8")) as object;
  await writeFile(path, JSON.stringify({ ...record, leaseEndsAtMs: Date.now() - 1000 }));
  await assert.rejects(host.start({ flags: ["--policy", "/nonexistent"] }), /policy: /);
  await untilValue("it is frozen", async () => (await isFreezing(ending)) || undefined);
  assert.equal(await isFreezing(going), false);
  await host.kill();
  await host.start();
  await host.control.call("cell.start", { computer_id: ending, size, lease_ms: 60_000 });
  for (const id of [ending, going]) assert.equal((await host.exec(id, ["/bin/true"])).code, 0);
});

test("after a reboot nothing is adopted, nothing is left, and the computer starts with its files", async () => {
  const id = await host.newComputer();
  await host.exec(id, ["/bin/sh", "-c", "echo kept > /work/file && sync"]);
  const { cells } = await host.control.call("cell.list", {});
  assert.equal(cells.length, 1);
  await host.kill();
  await host.start({ flags: ["--boot-id", "another-boot"] });
  assert.deepEqual((await host.control.call("cell.list", {})).cells, []);
  assert.deepEqual(await processesOf(id), [], "no process of the old cell");
  await host.control.call("cell.start", { computer_id: id, size, lease_ms: 60_000 });
  assert.equal((await host.exec(id, ["/bin/cat", "/work/file"])).stdout, "kept\n");
  await host.kill();
  await host.start({ flags: ["--boot-id", "another-boot"] });
  assert.equal((await host.control.call("cell.list", {})).cells.length, 1, "the same boot again adopts");
});

test("a cell whose agent ends is noticed and taken down", async () => {
  const id = await host.newComputer();
  const { next } = await host.control.call("events.wait", { after: 0, wait_ms: 0 });
  await host.control.call("cell.list", {});
  const [init] = await processesOf(id);
  assert.ok(init);
  process.kill(init, "SIGKILL");
  const { events } = await host.control.call("events.wait", { after: next, wait_ms: 10_000 });
  assert.deepEqual(
    events.map((event) => [event.computer_id, event.kind]),
    [[id, "exited"]],
  );
  const cell = (await host.control.call("cell.list", {})).cells.find((view) => view.computer_id === id);
  assert.equal(cell?.exit?.reason, "agent_ended");
  assert.deepEqual(await host.leftovers([id]), []);
});

test("a supervisor that does not serve takes down the cells of the one before it, and leaves nothing", async () => {
  const [awake, asleep] = [await host.newComputer(), await host.newComputer()];
  await host.control.call("cell.freeze", { computer_id: asleep });
  await host.kill();
  // A layer that cannot be proven, policy that cannot be read: neither serves, both clear.
  for (const flags of [
    ["--runtime", "/bin/true"],
    ["--policy", "/nonexistent"],
  ]) {
    await assert.rejects(host.start({ flags }), /does not serve/);
    await assert.rejects(host.control.call("cell.list", {}), { code: "unavailable" });
    const { cells_stopped: stopped } = await host.launcher.call("clear", {});
    assert.equal(stopped, flags[0] === "--runtime" ? 2 : 0);
    await host.kill();
    const left = (await host.leftovers([])).filter((line) =>
      /^(cgroup|process|link|mount|network)/.test(line),
    );
    assert.deepEqual(left, [], "no cell, namespace, mount or cgroup");
  }
  await host.start();
  await host.control.call("cell.start", { computer_id: awake, size, lease_ms: 60_000 });
  assert.equal((await host.exec(awake, ["/bin/true"])).code, 0, "the volume is whole");
});

test("a helper that is killed, idle or at work, is started again; what it was at may be asked for again", async () => {
  const id = newId("computer");
  await host.control.call("volume.create", { computer_id: id, size });
  const idle = await helperOf();
  assert.ok(idle !== undefined);
  process.kill(idle, "SIGKILL");
  const start = () => host.control.call("cell.start", { computer_id: id, size, lease_ms: 60_000 });
  for (let round = 0; round < 4; round += 1) {
    let over = false;
    const starting = start()
      .then(
        () => "started",
        (error: unknown) => (error as { readonly code?: string }).code,
      )
      .finally(() => (over = true));
    // One that met the killed helper is over at once, and nobody has asked for another by then.
    const helper = await helperOf(() => over);
    if (helper !== undefined) process.kill(helper, "SIGKILL");
    assert.match(String(await starting), /^(started|internal)$/, "not the computer's fault");
    await start();
    assert.equal((await host.exec(id, ["/bin/true"])).code, 0);
    await host.control.call("cell.stop", { computer_id: id });
  }
});

/** The process that makes system calls for this test's supervisor, once there is one; undefined when there is none and none will come. */
const helperOf = async (noneComes: () => boolean = () => false): Promise<number | undefined> => {
  const found = await untilValue("the helper runs", async () => {
    const over = noneComes();
    for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
      const [command = "", status = ""] = await Promise.all(
        ["cmdline", "status"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")),
      );
      if (!command.includes("\0host\0cell\0serve\0")) continue;
      const parent = /^PPid:\s+(\d+)/m.exec(status)?.[1];
      const above = await readFile(`/proc/${parent}/cmdline`, "utf8").catch(() => "");
      if (above.includes(`\0--instance\0${host.instance}\0`)) return Number(pid);
    }
    return over ? "none" : undefined;
  });
  return found === "none" ? undefined : found;
};

test("every call may be repeated and asked for at once", async () => {
  const id = newId("computer");
  const made = await Promise.all(
    Array.from({ length: 5 }, () => host.control.call("volume.create", { computer_id: id, size })),
  );
  assert.equal(made.filter(({ created }) => created).length, 1);
  const start = () => host.control.call("cell.start", { computer_id: id, size, lease_ms: 60_000 });
  const started = await Promise.all(Array.from({ length: 5 }, start));
  assert.equal(started.filter((result) => result.started).length, 1);
  assert.equal(new Set(started.map(({ cell }) => cell.cell_id)).size, 1);
  const stopped = await Promise.all([1, 2, 3].map(() => host.control.call("cell.stop", { computer_id: id })));
  assert.equal(stopped.filter((result) => result.stopped).length, 1);
  assert.equal((await host.control.call("volume.destroy", { computer_id: id })).destroyed, true);
  assert.equal((await host.control.call("volume.destroy", { computer_id: id })).destroyed, false);
  await assert.rejects(start(), { code: "not_found" });
});

/** One life of a computer; crash points are found by running it. */
const life = async (id: string): Promise<void> => {
  const call = host.control.call;
  await call("volume.create", { computer_id: id, size });
  await call("cell.start", { computer_id: id, size, lease_ms: 60_000 });
  await call("volume.resize", { computer_id: id, size: "medium" });
  await call("cell.freeze", { computer_id: id });
  await call("cell.thaw", { computer_id: id, lease_ms: 60_000 });
  await call("cell.stop", { computer_id: id });
  await call("volume.destroy", { computer_id: id });
};

test("killed at each named point, the next start and the same calls again end well", async (context) => {
  const list = join(host.places.data, "crash-points");
  await host.kill();
  await host.start({ environment: { HOLDFAST_CRASH_LIST: list } });
  await life(newId("computer"));
  const points = [...new Set((await readFile(list, "utf8")).trim().split("\n"))];
  await rm(list);
  assert.ok(points.length >= 12, `found only ${points.join(", ")}`);

  for (const point of points) {
    await context.test(point, async () => {
      const id = newId("computer");
      await host.kill();
      await host.start({ environment: { HOLDFAST_CRASH_POINT: point } });
      await life(id).catch(() => {});
      assert.ok(await host.ended(5_000), `${point} was reached`);
      await host.start();
      const known = (await host.control.call("volume.list", {})).volumes.map((volume) => volume.computer_id);
      assert.deepEqual(await host.leftovers(known), [], "a computer is whole or absent");
      await life(id);
      assert.deepEqual(await host.leftovers([]), []);
    });
  }
});

const readGroup = async (computerId: string, file: string): Promise<string> => {
  const paths = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(
    (root) => `${root}/holdfast-${host.shortId}/${computerId}/${file}`,
  );
  return (await Promise.all(paths.map((path) => readFile(path, "utf8").catch(() => "")))).join("");
};
const isFreezing = async (computerId: string): Promise<boolean> =>
  (await readGroup(computerId, "cgroup.freeze")).trim() === "1";
const processesOf = async (computerId: string): Promise<number[]> =>
  (await readGroup(computerId, "cgroup.procs")).split("\n").filter(Boolean).map(Number);

test("killed at cell.adopt:down, while it takes down what an earlier one left half-made, the next start goes on", async () => {
  const id = newId("computer");
  await host.kill();
  await host.start({ environment: { HOLDFAST_CRASH_POINT: "cell.start:made" } });
  await host.control.call("volume.create", { computer_id: id, size });
  await assert.rejects(host.control.call("cell.start", { computer_id: id, size, lease_ms: 60_000 }));
  assert.ok(await host.ended(5000));
  await assert.rejects(host.start({ environment: { HOLDFAST_CRASH_POINT: "cell.adopt:down" } }));
  assert.ok(await host.ended(5000), "it died there");
  await host.start();
  assert.deepEqual(
    (await host.leftovers([])).filter((line) => line.includes(id) && !/subvolume|facts/.test(line)),
    [],
  );
  await host.control.call("cell.start", { computer_id: id, size, lease_ms: 60_000 });
  assert.equal((await host.exec(id, ["/bin/true"])).code, 0);
  await host.control.call("volume.destroy", { computer_id: id });
});

test("a renewal for the cell before this one is told that it is gone, and neither keeps nor ends the one that runs", async () => {
  const id = newId("computer");
  await host.control.call("volume.create", { computer_id: id, size });
  const start = () => host.control.call("cell.start", { computer_id: id, size, lease_ms: 60_000 });
  const { cell: old } = await start();
  await host.control.call("cell.stop", { computer_id: id });
  const { cell } = await start();
  assert.notEqual(cell.cell_id, old.cell_id);
  const { missing } = await host.control.call("lease.renew", {
    cells: [{ computer_id: id, cell_id: old.cell_id }],
    lease_ms: 1000,
  });
  assert.deepEqual(missing, [old.cell_id]);
  const { next } = await host.control.call("events.wait", { after: 0, wait_ms: 0 });
  // The renewal's second passes, and nothing happens to the one that runs.
  assert.deepEqual((await host.control.call("events.wait", { after: next, wait_ms: 1500 })).events, []);
  const now = (await host.control.call("cell.list", {})).cells.find((view) => view.computer_id === id);
  assert.deepEqual([now?.cell_id, now?.state], [cell.cell_id, "running"]);
  await host.control.call("volume.destroy", { computer_id: id });
});
