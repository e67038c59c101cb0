import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limits } from "@holdfast/contract";
import { createComputer, run } from "../../support/computer.ts";
import { refused, servedProject } from "../../support/projects.ts";
import { until } from "../../support/until.ts";
import { useComputer } from "../../support/use.ts";

const { instance, assistant, computer } = await useComputer();
const { client } = assistant;
const served = (name: string) => servedProject(assistant, computer, name);

describe("many at once, and callers who go away", () => {
  test("deploys of one project go one after the other, each a deployment", async () => {
    const project = await served("busy");
    await client.files.write({ computer, path: "/work/busy/more.txt", content: "more\n" });
    const all = await Promise.all(
      [1, 2, 3].map((n) => assistant.once.projects.deploy({ project: project.id, message: `Deploy ${n}` })),
    );
    assert.equal(
      new Set(all.map(({ deployment }) => deployment.commit)).size,
      1,
      "the others had nothing to commit",
    );
    assert.equal(new Set(all.map(({ deployment }) => deployment.id)).size, 3);
    assert.deepEqual(
      (await client.services.list({ computer })).services.filter(({ name }) => name.startsWith("busy"))
        .length,
      1,
    );
  });

  test("two assistants who take one name at the same time get an address each", async () => {
    const other = await instance.assistant();
    const theirs = await createComputer(other);
    const [mine, yours] = await Promise.all([
      client.projects.create({ computer, name: "twins" }),
      other.client.projects.create({ computer: theirs, name: "twins" }),
    ]);
    assert.notEqual(mine.slug, yours.slug);
    for (const { slug } of [mine, yours]) assert.match(slug, /^twins(-[a-z2-9]{4})?$/);
    await other.client.computers.destroy({ computer: theirs });
  });

  test("a creation whose caller goes away is finished, and the repeated request has it", async () => {
    const ask = (signal?: AbortSignal): Promise<Response> =>
      fetch(`${instance.url}/v1/projects`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${assistant.secret}`,
          "content-type": "application/json",
          "idempotency-key": '"left-alone"',
        },
        body: JSON.stringify({ computer, name: "left-alone", template: "api" }),
        ...(signal ? { signal } : {}),
      });
    // A computer that has to be woken first gives the time to leave.
    await client.computers.stop({ computer });
    const leaving = new AbortController();
    const left = ask(leaving.signal).catch(() => undefined);
    await until("it has begun", async () =>
      (await client.records.list({ limit: 20 })).records.some(
        ({ operation, outcome }) => operation === "project.create" && outcome === "running",
      ),
    );
    leaving.abort();
    await left;
    await until("it runs", async () => {
      const found = await client.projects.get({ project: "left-alone" }).catch(() => undefined);
      return found?.state === "running";
    });
    const again = await ask();
    assert.equal(again.status, 201);
    assert.equal(((await again.json()) as { slug: string }).slug, "left-alone");
  });
});

describe("whose a project is", () => {
  test("other assistants find nothing of it by id or slug, owners all; its computer's assistant has what an owner makes there", async () => {
    const project = await served("whose");
    const stranger = await instance.assistant();
    for (const ref of [project.id, project.slug]) {
      await refused(stranger.client.projects.get({ project: ref }), "not_found");
      await refused(stranger.client.projects.deploy({ project: ref }), "not_found");
      await refused(stranger.client.projects.history({ project: ref }), "not_found");
      await refused(stranger.client.projects.diff({ project: ref }), "not_found");
      await refused(stranger.client.projects.restore({ project: ref, commit: "0123456" }), "not_found");
      await refused(
        stranger.client.projects.update({ project: ref, description: "x", if_match: "1" }),
        "not_found",
      );
      await refused(stranger.client.projects.destroy({ project: ref }), "not_found");
    }
    await refused(stranger.client.projects.create({ computer, name: "theirs" }), "not_found");
    assert.deepEqual((await stranger.client.projects.list({})).projects, []);
    const owner = await instance.owner();
    assert.equal((await owner.projects.get({ project: "whose" })).id, project.id);
    const made = await owner.projects.create({ computer, name: "by-owner" });
    assert.equal(made.owner, assistant.id);
    assert.equal((await client.projects.get({ project: "by-owner" })).id, made.id);
    assert.notEqual(made.deployment?.principal, assistant.id, "who deployed it was the owner");
  });

  test("a slug keeps its meaning: destroyed, it is free for its own assistant and for nobody else", async () => {
    const stranger = await instance.assistant();
    const theirs = await createComputer(stranger);
    const project = await client.projects.create({ computer, name: "slugs", slug: "one-of-a-kind" });
    await refused(
      stranger.client.projects.create({ computer: theirs, name: "slugs", slug: "one-of-a-kind" }),
      "name_taken",
    );
    const another = await stranger.client.projects.create({ computer: theirs, name: "slugs" });
    assert.equal(another.slug, "slugs", "a name is its computer's alone");
    await client.projects.destroy({ project: "one-of-a-kind", delete_files: true });
    await refused(client.projects.get({ project: "one-of-a-kind" }), "not_found");
    assert.equal((await client.projects.get({ project: project.id })).id, project.id);
    await refused(
      stranger.client.projects.create({ computer: theirs, name: "again", slug: "one-of-a-kind" }),
      "name_taken",
    );
    const again = await client.projects.create({ computer, name: "again", slug: "one-of-a-kind" });
    assert.notEqual(again.id, project.id);
    // With a name whose slug is another's, it gets an ending.
    const ended = await client.projects.create({ computer, name: "slugs" });
    assert.match(ended.slug, /^slugs-[a-z2-9]{4}$/);
    await stranger.client.computers.destroy({ computer: theirs });
  });
});

describe("the end of a project", () => {
  test("takes its services and address, and its files only when asked to", async () => {
    const project = await served("ends");
    const destroyed = await client.projects.destroy({ project: project.id });
    assert.deepEqual([destroyed.services, destroyed.next], [[], []]);
    assert.equal((await client.projects.destroy({ project: project.id })).id, project.id, "again is fine");
    await refused(client.services.get({ computer, service: "ends-web" }), "not_found");
    await refused(client.projects.deploy({ project: project.id }), "not_found");
    assert.equal((await run(assistant, computer, "ls /work/ends")).stdout, "README.md\nserver.js\n");
    await refused(client.projects.create({ computer, name: "ends" }), "file_exists");
    await run(assistant, computer, "rm -r /work/ends");
    const next = await client.projects.create({ computer, name: "ends" });
    // The old one's files are the new one's folder by now.
    await client.projects.destroy({ project: project.id, delete_files: true });
    assert.equal((await run(assistant, computer, "ls /work/ends")).stdout, "README.md\n");
    await client.projects.destroy({ project: next.id, delete_files: true });
    assert.notEqual((await run(assistant, computer, "ls /work/ends")).process.exit_code, 0);
  });

  test("comes with the end of its computer", async () => {
    const other = await createComputer(assistant);
    const project = await client.projects.create({ computer: other, name: "goes", template: "api" });
    assert.equal(project.state, "running", JSON.stringify(project.services));
    await client.computers.destroy({ computer: other });
    await refused(client.projects.get({ project: project.slug }), "not_found");
    assert.ok(!(await client.projects.list({})).projects.some(({ id }) => id === project.id));
  });

  test("a computer holds no more projects than it may", async () => {
    const full = await createComputer(assistant);
    for (let index = 0; index < limits.projectsPerComputer; index += 1)
      await client.projects.create({ computer: full, name: `p-${index}` });
    await refused(client.projects.create({ computer: full, name: "over" }), "limit_reached");
    await client.computers.destroy({ computer: full });
  });
});
