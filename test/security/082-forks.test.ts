import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "@holdfast/sdk";
import { createComputer, run } from "../support/computer.ts";
import type { Assistant } from "../support/instance.ts";
import { refused, servedProject } from "../support/projects.ts";
import { until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";
import { visit } from "../support/visit.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

/** What tells one machine from another. */
const identity = async (of: Assistant, computer: string): Promise<ReadonlyMap<string, string>> => {
  const { stdout } = await run(
    of,
    computer,
    `echo machine $(cat /etc/machine-id)
echo dbus $(cat /var/lib/dbus/machine-id 2> /dev/null)
echo hostname $(hostname)
echo hosts $(cat /etc/hosts | tr '\\n' ' ')
echo boot $(cat /proc/sys/kernel/random/boot_id)
echo random $(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' ')
echo python $(python3 -c 'import random; print(random.random())')
echo uuid $(cat /proc/sys/kernel/random/uuid)
echo seed $(cat /var/lib/systemd/random-seed 2> /dev/null)
for key in /etc/ssh/ssh_host_*; do [ -e "$key" ] && echo key $key $(cat $key); done
true`,
  );
  return new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => [line.split(" ")[0] ?? "", line]),
  );
};

test("82, state 8: two forks of one snapshot share no machine id, host key, seed, random number or name with it or each other", async () => {
  const computer = await createComputer(assistant);
  await run(
    assistant,
    computer,
    `mkdir -p /etc/ssh /var/lib/systemd /var/lib/dbus
echo private > /etc/ssh/ssh_host_ed25519_key; echo public > /etc/ssh/ssh_host_ed25519_key.pub
echo seed > /var/lib/systemd/random-seed; cp /etc/machine-id /var/lib/dbus/machine-id`,
  );
  await client.snapshots.create({ computer, name: "origin" });
  const forks = [];
  for (const name of ["twin-one", "twin-two"]) {
    const fork = await client.computers.fork({ computer, name, snapshot: "origin", wait_ms: 50_000 });
    assert.equal(fork.state, "awake", fork.reason ?? "");
    forks.push(fork.id);
  }
  const all = await Promise.all([computer, ...forks].map((one) => identity(assistant, one)));
  const [own = new Map<string, string>(), ...others] = all;
  assert.ok(own.has("key") && own.get("seed") === "seed seed", "the origin has what is not to be copied");
  for (const field of ["machine", "hostname", "random", "python", "uuid"]) {
    const values = all.map((one) => one.get(field));
    assert.ok(
      values.every((value) => value !== undefined && value !== field),
      `${field}: ${values.join("; ")}`,
    );
    assert.equal(new Set(values).size, all.length, `${field}: ${values.join("; ")}`);
  }
  for (const other of others)
    for (const field of ["key", "seed", "dbus"])
      if (own.get(field) !== undefined && other.get(field) !== field)
        assert.notEqual(other.get(field), own.get(field), field);
  for (const fork of forks) {
    const after = await identity(assistant, fork);
    await client.computers.stop({ computer: fork });
    assert.equal((await identity(assistant, fork)).get("machine"), after.get("machine"), "it stays the same");
    assert.deepEqual((await client.holds.list({ computer: fork })).holds, []);
  }
});

test("82: what was granted on the origin opens nothing of a fork: shares, visits, keys of events; its projects are private, its schedules paused", async () => {
  const computer = await createComputer(assistant);
  const project = await servedProject(assistant, computer, "granted");
  const owner = await instance.owner();
  await owner.projects.publish({ project: project.id });
  const share = await owner.shares.create({ project: project.id, label: "for a friend" });
  const hook = await client.schedules.create({ computer, name: "hook", command: "true", event: true });
  await client.holds.create({ computer, reason: "of the origin" });
  const fork = await client.computers.fork({ computer, name: "ungranted", wait_ms: 50_000 });

  const [copy] = (await client.projects.list({ computer: fork.id })).projects;
  assert.ok(copy);
  assert.notEqual(copy.slug, project.slug);
  assert.equal(copy.visibility, "private");
  assert.deepEqual((await owner.shares.list({ project: copy.id })).shares, []);
  assert.equal((await visit(instance, copy.slug)).status, 404, "nobody without a right");
  const link = new URL(share.url);
  const path = `${link.pathname}${link.search}`;
  const opened = await visit(instance, copy.slug, { path });
  assert.ok(opened.status !== 200 || !opened.body.includes("one"), `${opened.status} ${opened.body}`);
  assert.equal(opened.headers["set-cookie"], undefined, "no session by the origin's share");
  await until("the origin still serves", async () => (await visit(instance, project.slug)).status === 200);
  const headers = { "holdfast-key": assistant.secret };
  await until(
    "the fork serves its own assistant",
    async () => (await visit(instance, copy.slug, { headers })).body === "one",
    {
      withinMs: 30_000,
    },
  );

  const [theirs] = (await client.schedules.list({ computer: fork.id })).schedules;
  assert.deepEqual([theirs?.name, theirs?.state], ["hook", "paused"]);
  assert.notEqual(theirs?.id, hook.id);
  const fired = await fetch(new URL(`/v1/schedules/${theirs?.id}/fire`, instance.url), {
    method: "POST",
    headers: { authorization: `Bearer ${hook.event_key}`, "content-type": "application/json" },
    body: "{}",
  });
  assert.ok([401, 404].includes(fired.status), `${fired.status}: the origin's key starts a run of the fork`);
  assert.deepEqual((await client.holds.list({ computer: fork.id })).holds, []);
  assert.deepEqual((await client.processes.list({ computer: fork.id })).processes, []);
});

test("82: a child's key reaches the child and nothing else, with at most the caller's class, and is void with it", async () => {
  const parent = await createComputer(assistant);
  const [one, two] = [
    await client.children.create({
      computer: parent,
      name: "child-one",
      consequence: "prepare",
      wait_ms: 50_000,
    }),
    await client.children.create({ computer: parent, name: "child-two", wait_ms: 50_000 }),
  ];
  const helper = createClient({ baseUrl: instance.url, token: one.secret, retries: 0 });
  assert.deepEqual(
    (await helper.computers.list()).computers.map(({ id }) => id),
    [one.computer.id],
  );
  assert.equal(
    (await helper.processes.exec({ computer: one.computer.id, command: "echo in" })).stdout,
    "in\n",
  );
  for (const computer of [parent, two.computer.id]) {
    await refused(helper.computers.get({ computer }), "not_found");
    await refused(helper.processes.exec({ computer, command: "id" }), "not_found");
    await refused(helper.snapshots.create({ computer }), "not_found");
    await refused(helper.computers.fork({ computer, name: "stolen" }), "not_found");
  }
  for (const reach of [
    () => helper.computers.create({ name: "more" }),
    () => helper.computers.fork({ computer: one.computer.id, name: "more" }),
    () => helper.children.create({ computer: one.computer.id, name: "more" }),
    () => helper.computers.destroy({ computer: one.computer.id }),
  ])
    await assert.rejects(reach, (error: { readonly code?: string }) => {
      assert.ok(
        ["ceiling_reached", "forbidden", "not_found", "wrong_state"].includes(error.code ?? ""),
        error.code,
      );
      return true;
    });
  const strangers = await instance.assistant();
  await refused(strangers.client.computers.get({ computer: one.computer.id }), "not_found");
  await client.computers.destroy({ computer: parent });
  await until(
    "the children go with their parent",
    async () => {
      const { computers } = await client.computers.list({ limit: 200 });
      return computers.every(({ id }) => id !== one.computer.id && id !== two.computer.id);
    },
    { withinMs: 30_000 },
  );
  await until("the key is void", () =>
    helper.computers.list().then(
      ({ computers }) => computers.length === 0,
      ({ status }: { readonly status?: number }) => status === 401,
    ),
  );
});
