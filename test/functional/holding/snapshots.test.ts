import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import { untilState } from "../../support/holding.ts";
import { answerOf, servedProject } from "../../support/projects.ts";
import { lookAtRows, startWriter } from "../../support/sqlite.ts";
import { until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;
const volumes = join(instance.data, "pool/fs/supervisor/computers");

let forks = 0;
const fork = async (computer: string, snapshot?: string): Promise<string> => {
  forks += 1;
  const name = `fork-n${forks}-${computer.slice(-4).replaceAll(/\d/g, "x")}`;
  const made = await client.computers.fork({
    computer,
    name,
    ...(snapshot === undefined ? {} : { snapshot }),
    wait_ms: 50_000,
  });
  assert.equal(made.state, "awake", made.reason ?? "");
  return made.id;
};

test("state 3: files that a process holds open and a SQLite writer at full speed: what is restored opens, is whole, and holds what was acknowledged", async () => {
  const computer = await createComputer(assistant);
  const writer = await startWriter(assistant, computer, "wal");
  const held = await client.processes.start({
    computer,
    command: "exec 3>> /work/held; n=0; while :; do n=$((n+1)); echo line $n >&3; done",
  });
  await writer.untilAt(50);
  const acknowledged = writer.acknowledged();
  const snapshot = await client.snapshots.create({ computer, name: "running" });
  const copy = await fork(computer, snapshot.id);
  const rows = await lookAtRows(assistant, copy);
  assert.equal(rows.whole, "ok");
  assert.ok(rows.last >= acknowledged, `${rows.last} rows, ${acknowledged} acknowledged before`);
  const lines = await run(assistant, copy, "grep -cvE '^line [0-9]+$' /work/held; wc -l < /work/held");
  const [odd = "", count = ""] = lines.stdout.trim().split("\n");
  assert.equal(odd, "0", "every line but perhaps the last is whole");
  assert.ok(Number(count) > 0);

  for (const process of [held.id, writer.process])
    await client.processes.signal({ computer, process, signal: "KILL" });
  const restored = await client.snapshots.restore({ computer, snapshot: "running", wait_ms: 50_000 });
  assert.equal(restored.computer.state, "awake", restored.computer.reason ?? "");
  const again = await lookAtRows(assistant, computer);
  assert.deepEqual(again, rows, "the fork and what is restored in place are the same");
  const names = (await client.snapshots.list({ computer })).snapshots.map(({ id }) => id);
  assert.deepEqual([...names].sort(), [snapshot.id, restored.before].sort());
});

test("state 3: what a restore replaces is kept, and can be had back; files alone leave the definitions as they are", async () => {
  const computer = await createComputer(assistant, { environment: { COLOUR: "green" } });
  const project = await servedProject(assistant, computer, "site");
  await client.snapshots.create({ computer, name: "one" });
  const { version } = await client.computers.get({ computer });
  await client.computers.update({ computer, environment: { COLOUR: "red" }, if_match: version });
  await client.files.write({ computer, path: "/work/later", content: "later" });
  const files = await client.snapshots.restore({ computer, snapshot: "one", wait_ms: 50_000 });
  assert.equal((await run(assistant, computer, "ls /work; echo $COLOUR")).stdout, "site\nred\n");
  const both = await client.snapshots.restore({
    computer,
    snapshot: "one",
    what: "files_and_definitions",
    wait_ms: 50_000,
  });
  assert.equal((await run(assistant, computer, "ls /work; echo $COLOUR")).stdout, "site\ngreen\n");
  const now = await client.projects.get({ project: project.id });
  assert.deepEqual(
    [now.slug, now.address, now.visibility],
    [project.slug, project.address, project.visibility],
  );
  await until(
    "it serves",
    async () => (await client.projects.get({ project: project.id })).state === "running",
    {
      withinMs: 30_000,
    },
  );
  assert.equal(await answerOf(assistant, await client.projects.get({ project: project.id })), "one");
  await client.snapshots.restore({ computer, snapshot: files.before, wait_ms: 50_000 });
  assert.equal((await run(assistant, computer, "cat /work/later")).stdout, "later");
  assert.notEqual(both.before, files.before);
});

test("state 5: a removed environment variable is gone from runs of schedules, and from forks made after it; a snapshot's fork has what it was taken with", async () => {
  const computer = await createComputer(assistant, { environment: { KEPT: "yes", GONE: "soon" } });
  const say = 'echo "$KEPT-${GONE-unset}"';
  const { id: schedule } = await client.schedules.create({
    computer,
    name: "say",
    command: say,
    event: true,
  });
  await client.snapshots.create({ computer, name: "before" });
  const { version } = await client.computers.get({ computer });
  await client.computers.update({ computer, environment: { KEPT: "yes" }, if_match: version });
  const said = await client.schedules.run({ schedule, wait_ms: 30_000 });
  assert.equal((await client.runs.output({ run: said.id })).text, "yes-unset\n");
  assert.equal((await run(assistant, await fork(computer), say)).stdout, "yes-unset\n");
  assert.equal((await run(assistant, await fork(computer, "before"), say)).stdout, "yes-soon\n");
});

test("state 1: five rounds of archive and wake, one appended line each: all lines are there", async (context) => {
  const computer = await createComputer(assistant);
  for (const round of [1, 2, 3, 4, 5]) {
    await run(assistant, computer, `echo ${round} | tee -a /work/lines >> /root/lines`);
    const begin = performance.now();
    await client.computers.archive({ computer, wait_ms: 50_000 });
    await untilState(assistant, computer, "archived");
    const archived = performance.now();
    assert.equal((await client.computers.wake({ computer, wait_ms: 50_000 })).state, "awake");
    context.diagnostic(
      `archived in ${Math.round(archived - begin)} ms, awake in ${Math.round(performance.now() - archived)} ms`,
    );
  }
  const { stdout } = await run(assistant, computer, "cat /work/lines /root/lines");
  assert.equal(stdout, "1\n2\n3\n4\n5\n1\n2\n3\n4\n5\n");
});

test("lifecycle 5: sparse files, links, owners and times stay as they are over snapshot, fork and archive", async () => {
  const computer = await createComputer(assistant);
  const make = [
    "truncate -s 1T /work/sparse; echo x | dd of=/work/sparse bs=1 seek=500G conv=notrunc 2> /dev/null",
    "echo file > /work/file; ln /work/file /work/hard; ln -s file /work/soft; chown 1000:1000 /work/file",
    "touch -d 2001-02-03T04:05:06Z /work/file; chmod 640 /work/file; rm -r /usr/share/doc/bash 2> /dev/null; mkdir -p /root/d; echo r > /root/d/r",
    "mkdir '/work/a%2Fb ü'; printf '\\0\\1' > '/work/a%2Fb ü/bytes'; rm -rf /etc/skel; mkdir /etc/skel",
  ].join("\n");
  const look = [
    "cd /work; stat -c '%n %s %h %u %g %a %Y %F' sparse file hard soft */bytes; du -k sparse | cut -f1",
    "ls -A /etc/skel; test -e /usr/share/doc/bash || echo deleted; cat /root/d/r; od -An -tx1 */bytes",
  ].join("\n");
  await run(assistant, computer, make);
  const before = (await run(assistant, computer, look)).stdout;
  assert.ok(before.includes("deleted"), before);
  assert.equal((await run(assistant, await fork(computer), look)).stdout, before);
  await client.computers.archive({ computer, wait_ms: 50_000 });
  await untilState(assistant, computer, "archived");
  assert.equal((await run(assistant, computer, look)).stdout, before);
});

test("lifecycle 6: a failed snapshot is an error, and so is a fork; nothing of them is left, and they work once the cause is gone", async () => {
  const computer = await createComputer(assistant);
  const nested = join(volumes, computer, "work/nested");
  assert.equal(spawnSync("btrfs", ["subvolume", "create", nested]).status, 0);
  await assert.rejects(client.snapshots.create({ computer, name: "failed" }), { code: "computer_failed" });
  await assert.rejects(client.computers.fork({ computer, name: "failed-fork", wait_ms: 50_000 }), {
    code: "computer_failed",
  });
  assert.deepEqual((await client.snapshots.list({ computer })).snapshots, []);
  assert.equal((await run(assistant, computer, "echo unharmed")).stdout, "unharmed\n");
  assert.equal(spawnSync("btrfs", ["subvolume", "delete", nested]).status, 0);
  assert.equal((await client.snapshots.create({ computer, name: "failed" })).name, "failed");
  const left = (await client.computers.list({ limit: 200 })).computers.filter(
    ({ name }) => name === "failed-fork",
  );
  for (const { id } of left) await client.computers.destroy({ computer: id });
  await client.computers.fork({ computer, name: "failed-fork", wait_ms: 50_000 });
});

test("lifecycle 6: a machine that is asleep, stopped or archived does not say ready", async () => {
  const computer = await createComputer(assistant);
  const project = await servedProject(assistant, computer, "ready");
  for (const [verb, state] of [
    ["stop", "stopped"],
    ["archive", "archived"],
  ] as const) {
    await client.computers[verb]({ computer, wait_ms: 50_000 });
    await untilState(assistant, computer, state);
    const { services } = await client.services.list({ computer });
    assert.ok(services.length > 0);
    for (const service of services) assert.notEqual(service.state, "ready", `${state}: ${service.name}`);
    assert.equal((await client.projects.get({ project: project.id })).state, "stopped", state);
    assert.equal((await client.computers.usage({ computer })).processes, 0);
    assert.equal((await client.computers.get({ computer })).state, state, "looking wakes nothing");
  }
});
