import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limits, type OperationOutput } from "@holdfast/contract";
import { createComputer, run } from "../../support/computer.ts";
import type { Assistant } from "../../support/instance.ts";
import { until } from "../../support/until.ts";
import { useComputer } from "../../support/use.ts";

type Project = OperationOutput<"project.get">;

const { instance, assistant, computer } = await useComputer();
const { client } = assistant;

const web = (text: string) =>
  `require("http").createServer((q, s) => s.end(${JSON.stringify(text)})).listen(process.env.PORT, "127.0.0.1")\n`;
const definition = { web: "web", services: [{ name: "web", argv: ["node", "server.js"] }] };

/** A project with a small server of its own. */
const served = async (name: string): Promise<Project> => {
  const made = await client.projects.create({ computer, name });
  await client.projects.update({ project: made.id, definition, if_match: made.version });
  await client.files.write({ computer, path: `${made.folder}/server.js`, content: web("one") });
  const { project } = await client.projects.deploy({ project: made.id, message: "First server" });
  assert.equal(project.state, "running", JSON.stringify(project.services));
  return project;
};
/** What the web service answers, asked from inside. */
const answer = async ({ services }: Project, on = computer): Promise<string> => {
  const port = services.find(({ name }) => name.endsWith("-web"))?.port;
  return (await run(assistant, on, `curl -sS --fail http://127.0.0.1:${port}/`)).stdout;
};
const refused = (work: Promise<unknown>, code: string): Promise<void> => assert.rejects(work, { code });
const idOf = (assistantOfIt: Assistant): string => assistantOfIt.id;

describe("a project", () => {
  test("begins as a folder with a first commit and an address that is private", async () => {
    const project = await client.projects.create({ computer, name: "first", description: "The first one" });
    assert.equal(project.folder, "/work/first");
    assert.equal(project.slug, "first");
    assert.equal(project.address, `http://first.${instance.projects.domain}:${instance.projects.port}`);
    assert.deepEqual([project.visibility, project.published], ["private", null]);
    assert.deepEqual(
      [project.state, project.template, project.owner],
      ["no_service", "blank", idOf(assistant)],
    );
    assert.match(project.next.join("\n"), /\/work\/first[^]*project_deploy/);
    const { commits } = await client.projects.history({ project: "first" });
    assert.equal(commits.length, 1);
    assert.equal(commits[0]?.commit, project.deployment?.commit);
    assert.equal(commits[0]?.deployment?.principal, idOf(assistant));
    const { stdout } = await run(
      assistant,
      computer,
      "cd /work/first && git status --short && git log --format='%an %ae %s' && ls -a /work",
    );
    assert.match(stdout, new RegExp(`<?${idOf(assistant)}@holdfast\\.invalid>? Create first from blank`));
    assert.doesNotMatch(stdout, /\.holdfast/, "nothing of the creation is left beside it");
    assert.equal((await client.projects.get({ project: project.id })).slug, "first");
    const list = await client.projects.list({ computer });
    assert.deepEqual(
      list.projects.map(({ id }) => id),
      [project.id],
    );
  });

  test("is not made over what is there, nor twice, nor under a name of the house; a refusal leaves nothing", async () => {
    await run(assistant, computer, "mkdir /work/mine && echo kept > /work/mine/file");
    await refused(client.projects.create({ computer, name: "mine" }), "file_exists");
    await refused(client.projects.create({ computer, name: "first" }), "name_taken");
    await refused(client.projects.create({ computer, name: "other", slug: "first" }), "name_taken");
    await refused(client.projects.create({ computer, name: "other", slug: "www" }), "invalid_input");
    assert.equal(
      (await run(assistant, computer, "cat /work/mine/file; ls -A /work | sort | tr '\\n' ' '")).stdout,
      "kept\nfirst mine ",
    );
    await run(assistant, computer, "rm -r /work/mine");
    const mine = await client.projects.create({ computer, name: "mine" });
    assert.equal(mine.slug, "mine", "the slug of the refused creation is free");
    await client.projects.destroy({ project: mine.id, delete_files: true });
  });

  test("is made once, however often and at once it is asked for with one key", async () => {
    const ask = () => client.projects.create({ computer, name: "once" }, { idempotencyKey: "make-once" });
    const all = await Promise.all([ask(), ask(), ask()]);
    assert.equal(new Set(all.map(({ id }) => id)).size, 1);
    assert.equal((await ask()).id, all[0]?.id);
    await refused(
      client.projects.create({ computer, name: "twice" }, { idempotencyKey: "make-once" }),
      "idempotency_mismatch",
    );
  });

  test("runs what its definition says once it is deployed, and the same code again only when deployed", async () => {
    const project = await served("runs");
    assert.equal(await answer(project), "one");
    const port = project.services[0]?.port ?? 0;
    assert.ok(port >= limits.projectPortFirst && port <= limits.projectPortLast, String(port));
    await client.files.write({ computer, path: `${project.folder}/server.js`, content: web("two") });
    assert.equal(await answer(project), "one");
    const { diff } = await client.projects.diff({ project: project.id });
    assert.match(diff, /^-.*"one"[^]*^\+.*"two"/m);
    const deployed = await client.projects.deploy({ project: project.id, message: "Say two\n\nand why" });
    assert.equal(await answer(deployed.project), "two");
    assert.equal(deployed.project.services[0]?.port, port, "the port stays");
    assert.equal(deployed.project.services[0]?.id, project.services[0]?.id);
    assert.equal((await client.projects.diff({ project: project.id })).diff, "");

    // Nothing to commit: the same commit runs again, and that is a deployment too.
    const again = await client.projects.deploy({ project: project.id });
    assert.equal(again.deployment.commit, deployed.deployment.commit);
    assert.notEqual(again.deployment.id, deployed.deployment.id);
    const { commits } = await client.projects.history({ project: project.id });
    assert.deepEqual(
      commits.map(({ message }) => message),
      ["Say two\n\nand why", "First server", "Create runs from blank"],
    );
    assert.equal(commits[0]?.deployment?.id, again.deployment.id);

    const restored = await client.projects.restore({
      project: project.id,
      commit: String(commits[1]?.commit).slice(0, 10),
    });
    assert.equal(await answer(restored.project), "one");
    assert.equal((await client.projects.history({ project: project.id })).commits.length, 4);
    await refused(client.projects.restore({ project: project.id, commit: "0123456789" }), "not_found");
    const between = await client.projects.diff({
      project: project.id,
      from: String(commits[1]?.commit),
      to: String(commits[0]?.commit),
    });
    assert.match(between.diff, /^-.*"one"[^]*^\+.*"two"/m);
  });

  test("shows new files before they are committed, and what was changed before a restore is kept", async () => {
    const project = await served("keeps");
    const first = project.deployment?.commit ?? "";
    await run(
      assistant,
      computer,
      "cd /work/keeps && echo later > new.txt && echo ignored > .gitignore && echo x > ignored",
    );
    const { diff } = await client.projects.diff({ project: "keeps" });
    assert.match(diff, /\+\+\+ b\/new\.txt\n.*\n\+later/);
    assert.doesNotMatch(diff, /b\/ignored/);
    assert.match(
      (await run(assistant, computer, "cd /work/keeps && git status --short")).stdout,
      /\?\? new\.txt/,
    );
    await client.projects.restore({ project: "keeps", commit: first });
    const { stdout } = await run(assistant, computer, "cd /work/keeps && ls && git show HEAD~1:new.txt");
    assert.equal(stdout, "README.md\nignored\nserver.js\nlater\n");
    const [newest] = (await client.projects.history({ project: "keeps", limit: 1 })).commits;
    assert.match(newest?.message ?? "", /^Restore /);
  });

  test("pages through its history, whatever is committed meanwhile", async () => {
    const page = await client.projects.history({ project: "runs", limit: 3 });
    assert.equal(page.commits.length, 3);
    await run(
      assistant,
      computer,
      "cd /work/runs && git -c user.name=x -c user.email=x@y commit -q --allow-empty -m between",
    );
    const rest = await client.projects.history({ project: "runs", limit: 3, cursor: page.next_cursor ?? "" });
    assert.deepEqual(
      rest.commits.map(({ message }) => message),
      ["Create runs from blank"],
    );
    assert.equal(rest.next_cursor, null);
    const [between] = (await client.projects.history({ project: "runs", limit: 1 })).commits;
    assert.deepEqual(
      [between?.message, between?.deployment],
      ["between", null],
      "made inside: nobody deployed it",
    );
  });

  test("says when its service fails, and where to read why", async () => {
    const project = await served("fails");
    await client.files.write({
      computer,
      path: "/work/fails/server.js",
      content: 'throw new Error("on purpose")\n',
    });
    const asked = performance.now();
    const broken = await client.projects.deploy({ project: project.id });
    assert.ok(performance.now() - asked < 12_000, "one that ends over and over is not waited for to the end");
    assert.equal(broken.project.state, "failed", JSON.stringify(broken.project.services));
    assert.match(broken.project.next[0] ?? "", /fails-web is \w+: service_logs/);
    const { text } = await client.services.logs({ computer, service: "fails-web" });
    assert.match(text, /on purpose/);
    await client.services.stop({ computer, service: "fails-web" });
    assert.equal((await client.projects.get({ project: project.id })).state, "stopped");
    await client.projects.restore({ project: project.id, commit: project.deployment?.commit ?? "" });
    assert.equal((await client.projects.get({ project: project.id })).state, "running");
  });

  test("keeps its services to itself; a changed set is changed as one", async () => {
    const project = await served("owns");
    const service = await client.services.get({ computer, service: "owns-web" });
    await refused(
      client.services.update({ computer, service: "owns-web", port: 80, if_match: service.version }),
      "wrong_state",
    );
    await refused(client.services.delete({ computer, service: "owns-web" }), "wrong_state");
    await refused(client.services.create({ computer, name: "owns-web", command: "true" }), "name_taken");
    await client.services.create({ computer, name: "owns-bot", command: "sleep 1000" });

    const now = await client.projects.get({ project: project.id });
    await refused(
      client.projects.update({ project: project.id, definition, if_match: "0" }),
      "version_mismatch",
    );
    await refused(
      client.projects.update({
        project: project.id,
        definition: { services: [], web: "web" },
        if_match: now.version,
      }),
      "invalid_input",
    );
    const clash = {
      ...definition,
      services: [...definition.services, { name: "bot", command: "sleep 1000" }],
    };
    const updated = await client.projects.update({
      project: project.id,
      definition: clash,
      if_match: now.version,
    });
    assert.deepEqual(
      updated.services.map(({ name }) => name),
      ["owns-web"],
      "nothing changes before the deploy",
    );
    await refused(client.projects.deploy({ project: project.id }), "wrong_state");
    await client.services.delete({ computer, service: "owns-bot" });
    const { project: deployed } = await client.projects.deploy({ project: project.id });
    assert.deepEqual(
      deployed.services.map(({ name, state }) => [name, state]),
      [
        ["owns-bot", "ready"],
        ["owns-web", "ready"],
      ],
    );
    await client.projects.update({
      project: project.id,
      definition: { services: [{ name: "bot", command: "sleep 1000" }], web: null },
      if_match: deployed.version,
    });
    const { project: less } = await client.projects.deploy({ project: project.id });
    assert.deepEqual([less.state, less.services.map(({ name }) => name)], ["no_service", ["owns-bot"]]);
    await refused(client.services.get({ computer, service: "owns-web" }), "not_found");
  });

  test("comes back with its computer, whatever that did meanwhile", async () => {
    const project = await served("returns");
    await client.computers.stop({ computer });
    assert.equal((await client.projects.get({ project: project.id })).state, "stopped");
    await client.computers.wake({ computer });
    await until(
      "it runs again",
      async () => (await client.projects.get({ project: project.id })).state === "running",
    );
    await client.computers.sleep({ computer });
    const asleep = await client.projects.get({ project: project.id });
    assert.equal(asleep.state, "stopped");
    assert.match(asleep.next.join(), /Nothing of it runs/);
    assert.equal((await client.projects.deploy({ project: project.id })).project.state, "running");
    // Stopped again: a deploy wakes it.
    await client.computers.stop({ computer });
    const { project: deployed } = await client.projects.deploy({ project: project.id });
    assert.equal(deployed.state, "running");
    assert.equal(await answer(deployed), "one");
  });
});

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
    assert.equal(made.owner, idOf(assistant));
    assert.equal((await client.projects.get({ project: "by-owner" })).id, made.id);
    assert.notEqual(made.deployment?.principal, idOf(assistant), "who deployed it was the owner");
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
