import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { createComputer, run } from "../../support/computer.ts";
import { untilState } from "../../support/holding.ts";
import { answerOf, refused, servedProject } from "../../support/projects.ts";
import { hangMs, until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

const wait_ms = 50_000;

test("a fork is another computer with the same files, services and projects, and schedules that are paused", async () => {
  const computer = await createComputer(assistant, { environment: { COLOUR: "green" } });
  const project = await servedProject(assistant, computer, "site");
  await client.services.create({ computer, name: "idle", command: "exec sleep 1000000", cwd: "/tmp" });
  await client.schedules.create({ computer, name: "nightly", command: "true", cron: "0 3 * * *" });
  await run(assistant, computer, "echo mine > /work/file; echo in-root > /root/file");
  const fork = await client.computers.fork({ computer, name: "forked-one", wait_ms });
  assert.equal(fork.state, "awake", fork.reason ?? "");
  assert.notEqual(fork.origin, null);
  const { stdout } = await run(assistant, fork.id, "cat /work/file /root/file; echo $COLOUR; hostname");
  assert.equal(stdout, `mine\nin-root\ngreen\n${(await run(assistant, fork.id, "hostname")).stdout}`);

  const [copied, ...others] = (await client.projects.list({ computer: fork.id })).projects;
  assert.equal(others.length, 0);
  assert.ok(copied);
  assert.equal(copied.name, "site");
  assert.notEqual(copied.slug, project.slug);
  assert.equal(copied.visibility, "private");
  assert.equal(copied.deployment?.commit, project.deployment?.commit);
  await until(
    "the copy of the project runs",
    async () => (await client.projects.get({ project: copied.id })).state === "running",
    { withinMs: hangMs },
  );
  assert.equal(await answerOf(assistant, await client.projects.get({ project: copied.id })), "one");
  const history = await client.projects.history({ project: copied.id });
  assert.deepEqual(
    history.commits.map(({ commit }) => commit),
    (await client.projects.history({ project: project.id })).commits.map(({ commit }) => commit),
  );
  const services = (await client.services.list({ computer: fork.id })).services.map(({ name }) => name);
  assert.deepEqual(services, ["idle", "site-web"]);
  const [schedule] = (await client.schedules.list({ computer: fork.id })).schedules;
  assert.equal(schedule?.state, "paused");
  assert.equal(schedule?.next_slot, null);

  // Neither knows of what the other does from now on.
  await run(assistant, fork.id, "echo fork > /work/file");
  assert.equal((await run(assistant, computer, "cat /work/file")).stdout, "mine\n");
  assert.equal((await client.projects.get({ project: project.id })).address, project.address);
  // What was only taken for it is nobody's to see.
  assert.deepEqual((await client.snapshots.list({ computer })).snapshots, []);
});

test("a fork is known by none of what its origin was known by", async () => {
  const computer = await createComputer(assistant);
  const look =
    "cat /etc/machine-id; hostname; head -c 16 /dev/urandom | od -An -tx1; ls /etc/ssh/ssh_host_* /var/lib/systemd/random-seed /var/lib/dbus/machine-id 2> /dev/null; true";
  await run(
    assistant,
    computer,
    "mkdir -p /etc/ssh /var/lib/systemd; echo old > /etc/ssh/ssh_host_ed25519_key; echo old > /var/lib/systemd/random-seed",
  );
  const { id: snapshot } = await client.snapshots.create({ computer, name: "origin" });
  const forks = await Promise.all(
    ["identity-a", "identity-b"].map((name) => client.computers.fork({ computer, snapshot, name, wait_ms })),
  );
  const seen = await Promise.all(
    [computer, ...forks.map(({ id }) => id)].map(async (id) =>
      (await run(assistant, id, look)).stdout.trim().split("\n"),
    ),
  );
  for (const line of [0, 1, 2])
    assert.equal(new Set(seen.map((lines) => lines[line])).size, 3, JSON.stringify(seen));
  assert.ok(seen[0]?.includes("/etc/ssh/ssh_host_ed25519_key"));
  for (const lines of seen.slice(1)) assert.equal(lines.length, 3, lines.join("\n"));
});

test("a fork with a lifetime that is promoted stays, and a snapshot goes though there is a fork of it", async () => {
  const computer = await createComputer(assistant);
  await run(assistant, computer, "echo kept > /work/file");
  await client.snapshots.create({ computer, name: "base" });
  const ends = await client.computers.fork({
    computer,
    name: "ends",
    snapshot: "base",
    lifetime_ms: 60_000,
    wait_ms,
  });
  assert.notEqual(ends.expires_at, null);
  const promoted = await client.computers.promote({ computer: ends.id });
  assert.equal(promoted.expires_at, null);
  await client.snapshots.delete({ computer, snapshot: "base" });
  await refused(client.snapshots.get({ computer, snapshot: "base" }), "not_found");
  assert.equal((await run(assistant, ends.id, "cat /work/file")).stdout, "kept\n");
  await client.computers.stop({ computer: ends.id });
  assert.equal((await run(assistant, ends.id, "cat /work/file")).stdout, "kept\n");
});

test("the same idempotency key makes one fork, a taken name and an unknown snapshot none", async () => {
  const computer = await createComputer(assistant);
  const fork = () =>
    client.computers.fork({ computer, name: "once-only", wait_ms }, { idempotencyKey: "fork-once" });
  const [one, two] = await Promise.all([fork(), fork()]);
  assert.equal(one.id, two.id);
  await refused(client.computers.fork({ computer, name: "once-only" }), "name_taken");
  await refused(client.computers.fork({ computer, name: "another", snapshot: "none" }), "not_found");
});

test("what is exported is imported as another computer, on which all of it runs", async () => {
  const computer = await createComputer(assistant, { environment: { COLOUR: "blue" } });
  const project = await servedProject(assistant, computer, "site");
  await run(
    assistant,
    computer,
    "mkdir -p /root/d; echo r > /root/d/r; ln -s r /root/d/link; echo $((6*7)) > /work/n",
  );
  await client.snapshots.create({ computer, name: "export" });
  const exported = await client.snapshots.export({ computer, snapshot: "export" });
  const file = Buffer.from(await new Response(exported.stream).arrayBuffer());
  assert.equal(file.readUInt32LE(0), 0xfd2fb528, "a zstd frame");
  const imported = await client.snapshots.import({ name: "imported" }, new Blob([file]).stream());
  await untilState(assistant, imported.id, "awake");
  const { stdout } = await run(assistant, imported.id, "cat /work/n; readlink /root/d/link; echo $COLOUR");
  assert.equal(stdout, "42\nr\nblue\n");
  const [copied] = (await client.projects.list({ computer: imported.id })).projects;
  assert.ok(copied);
  assert.notEqual(copied.slug, project.slug);
  await until(
    "the imported project runs",
    async () => (await client.projects.get({ project: copied.id })).state === "running",
    { withinMs: hangMs },
  );
  assert.equal(await answerOf(assistant, await client.projects.get({ project: copied.id })), "one");

  const broken = Buffer.from(file);
  broken[broken.length - 40] = (broken[broken.length - 40] ?? 0) ^ 0xff;
  await refused(client.snapshots.import({ name: "broken" }, new Blob([broken]).stream()), "archive_refused");
  const left = (await client.computers.list({ limit: 200 })).computers.filter(
    ({ name }) => name === "broken",
  );
  assert.deepEqual(
    left.map(({ desired_state }) => desired_state).filter((state) => state !== "destroyed"),
    [],
  );
});

test("two snapshots are compared, and one with what is now", async () => {
  const computer = await createComputer(assistant);
  await run(assistant, computer, "echo a > /work/a; echo b > /work/b");
  await client.snapshots.create({ computer, name: "first" });
  await run(assistant, computer, "echo longer > /work/a; rm /work/b; mkdir /work/d; echo c > /work/d/c");
  await client.snapshots.create({ computer, name: "second" });
  const changes = async (fields: { to?: string; limit?: number; cursor?: string }) =>
    client.snapshots.diff({ computer, snapshot: "first", path: "/work", ...fields });
  const between = await changes({ to: "second" });
  assert.deepEqual(
    between.differences.map(({ path, change, size_before, size_after }) => [
      path,
      change,
      size_before,
      size_after,
    ]),
    [
      ["/work/a", "changed", 2, 7],
      ["/work/b", "removed", 2, null],
      ["/work/d", "added", null, null],
      ["/work/d/c", "added", null, 2],
    ],
  );
  assert.deepEqual([between.added, between.changed, between.removed], [2, 1, 1]);
  await run(assistant, computer, "rm /work/a");
  const paths: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await changes({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    paths.push(...page.differences.map(({ path, change }) => `${path} ${change}`));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  assert.deepEqual(paths, ["/work/a removed", "/work/b removed", "/work/d added", "/work/d/c added"]);
  assert.equal((await client.snapshots.list({ computer })).snapshots.length, 2);
});

test("a child's helper has the child and nothing else, and its key ends with it", async () => {
  const parent = await createComputer(assistant);
  await run(assistant, parent, "echo theirs > /work/file");
  await servedProject(assistant, parent, "site");
  const made = await client.children.create({ computer: parent, name: "helper-child", wait_ms });
  assert.equal(made.computer.parent, parent);
  assert.equal(made.computer.state, "awake", made.computer.reason ?? "");
  const child = made.computer.id;
  const helper = createClient({ baseUrl: instance.url, token: made.secret, retries: 0 });
  assert.deepEqual(
    (await helper.computers.list({})).computers.map(({ id }) => id),
    [child],
  );
  assert.equal((await run({ ...assistant, client: helper }, child, "cat /work/file")).stdout, "theirs\n");
  await refused(helper.computers.get({ computer: parent }), "not_found");
  await refused(helper.computers.create({ name: "more" }), "ceiling_reached");
  await refused(helper.computers.fork({ computer: child, name: "more" }), "ceiling_reached");
  await refused(helper.children.create({ computer: child, name: "more" }), "wrong_state");
  await refused(helper.computers.promote({ computer: child }), "not_found");
  // Whose the parent is sees and uses the child, and what is on it, as its own.
  const [copy] = (await client.projects.list({ computer: child })).projects;
  assert.equal(copy?.name, "site");
  assert.equal(copy.owner, made.assistant);
  assert.equal((await client.projects.get({ project: copy.id })).slug, copy.slug);
  assert.deepEqual(
    (await helper.projects.list({})).projects.map(({ id }) => id),
    [copy.id],
  );
  assert.equal((await run(assistant, child, "cat /work/file")).stdout, "theirs\n");
  await refused(client.children.create({ computer: parent, name: "helper-child" }), "name_taken");
  await refused(
    client.children.create({ computer: parent, name: "admin", consequence: "administer" }),
    "ceiling_reached",
  );

  await client.computers.destroy({ computer: parent });
  await untilRefused(helper);
  await untilGone(child);
});

test("a promoted child stays when its parent goes, and its helper is let go", async () => {
  const parent = await createComputer(assistant);
  const made = await client.children.create({
    computer: parent,
    name: "grows-up",
    lifetime_ms: 3_600_000,
    wait_ms,
  });
  const child = made.computer.id;
  await run(assistant, child, "echo own > /work/own");
  const promoted = await client.computers.promote({ computer: child });
  assert.deepEqual([promoted.parent, promoted.expires_at, promoted.owner], [null, null, assistant.id]);
  const helper = createClient({ baseUrl: instance.url, token: made.secret, retries: 0 });
  await untilRefused(helper);
  await client.computers.destroy({ computer: parent });
  assert.equal((await run(assistant, child, "cat /work/own")).stdout, "own\n");
});

test("who loses the key loses the helpers it gave out", async () => {
  const other = await instance.assistant();
  const parent = await createComputer(other);
  const made = await other.client.children.create({ computer: parent, name: "delegated", wait_ms });
  const helper = createClient({ baseUrl: instance.url, token: made.secret, retries: 0 });
  assert.equal((await helper.computers.list({})).computers.length, 1);
  await (await instance.owner()).keys.revoke({ key: other.keyId });
  await untilRefused(helper);
});

const untilGone = (computer: string): Promise<void> =>
  until(
    `${computer} is destroyed`,
    async () => (await client.computers.get({ computer })).state === "destroyed",
    { withinMs: hangMs },
  );

/** Until nobody is let in with the helper's key. */
const untilRefused = (helper: HoldfastClient): Promise<void> =>
  until(
    "the helper's key is refused",
    () =>
      helper.principal.get({}).then(
        () => false,
        (error: { code?: string }) => error.code === "unauthenticated",
      ),
    { withinMs: hangMs },
  );
