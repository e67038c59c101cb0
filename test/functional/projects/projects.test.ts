import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limits } from "@holdfast/contract";
import { run } from "../../support/computer.ts";
import { answerOf, refused, serverDefinition, serverOf, servedProject } from "../../support/projects.ts";
import { until } from "../../support/until.ts";
import { useComputer } from "../../support/use.ts";

const { instance, assistant, computer } = await useComputer();
const { client } = assistant;
const served = (name: string) => servedProject(assistant, computer, name);

describe("a project", () => {
  test("begins as a folder with a first commit and an address that is private", async () => {
    const project = await client.projects.create({ computer, name: "first", description: "The first one" });
    assert.equal(project.folder, "/work/first");
    assert.equal(project.slug, "first");
    assert.equal(project.address, `http://first.${instance.projects.domain}:${instance.projects.port}`);
    assert.deepEqual([project.visibility, project.published], ["private", null]);
    assert.deepEqual([project.state, project.template, project.owner], ["no_service", "blank", assistant.id]);
    assert.match(project.next.join("\n"), /\/work\/first[^]*project_deploy/);
    const { commits } = await client.projects.history({ project: "first" });
    assert.equal(commits.length, 1);
    assert.equal(commits[0]?.commit, project.deployment?.commit);
    assert.equal(commits[0]?.deployment?.principal, assistant.id);
    const { stdout } = await run(
      assistant,
      computer,
      "cd /work/first && git status --short && git log --format='%an %ae %s' && ls -a /work",
    );
    assert.match(stdout, new RegExp(`<?${assistant.id}@holdfast\\.invalid>? Create first from blank`));
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
    assert.equal(await answerOf(assistant, project), "one");
    const port = project.services[0]?.port ?? 0;
    assert.ok(port >= limits.projectPortFirst && port <= limits.projectPortLast, String(port));
    await client.files.write({ computer, path: `${project.folder}/server.js`, content: serverOf("two") });
    assert.equal(await answerOf(assistant, project), "one");
    const { diff } = await client.projects.diff({ project: project.id });
    assert.match(diff, /^-.*"one"[^]*^\+.*"two"/m);
    const deployed = await client.projects.deploy({ project: project.id, message: "Say two\n\nand why" });
    assert.equal(await answerOf(assistant, deployed.project), "two");
    assert.equal(deployed.project.services[0]?.port, port, "the port stays");
    assert.equal(deployed.project.services[0]?.id, project.services[0]?.id);
    assert.equal((await client.projects.diff({ project: project.id })).diff, "");

    // Nothing to commit: the same commit runs again, and that is a deployment too.
    const again = await client.projects.deploy({ project: project.id, message: "Never committed" });
    assert.equal(again.deployment.commit, deployed.deployment.commit);
    assert.equal(
      again.deployment.message,
      "Say two",
      "of the commit that runs, not of one that was asked for",
    );
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
    assert.equal(await answerOf(assistant, restored.project), "one");
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
    assert.ok(
      performance.now() - asked < limits.answerMs / 2,
      "one that ends over and over is not waited for to the end",
    );
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
      client.projects.update({ project: project.id, definition: serverDefinition, if_match: "0" }),
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
      ...serverDefinition,
      services: [...serverDefinition.services, { name: "bot", command: "sleep 1000" }],
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
    await refused(client.projects.deploy({ project: project.id }), "name_taken");
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
    assert.equal(await answerOf(assistant, deployed), "one");
  });
});
