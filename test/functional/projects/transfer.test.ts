import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { run } from "../../support/computer.ts";
import { tarEntry, tarOf } from "../../support/tar.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { useComputer } from "../../support/use.ts";

const { instance, assistant, computer } = await useComputer();
const { client } = assistant;
const { path: place, remove } = temporaryDirectory("transfer");
after(remove);

/** git of the host, on repositories of the test's own. */
const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=engineer", "-c", "user.email=e@x", ...args], {
    cwd: place,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
const content = (project: string, query: string, body?: Uint8Array): Promise<Response> =>
  fetch(`${instance.url}/v1/projects/${project}/content${query}`, {
    headers: { authorization: `Bearer ${assistant.secret}` },
    ...(body === undefined ? {} : { method: "PUT", body }),
  });
const exported = async (project: string, format: string): Promise<Uint8Array> => {
  const reply = await content(project, `?format=${format}`);
  assert.equal(reply.status, 200);
  return new Uint8Array(await reply.arrayBuffer());
};
const imported = async (
  project: string,
  query: string,
  body: Uint8Array,
): Promise<Record<string, unknown>> => {
  const reply = await content(project, query, body);
  return { status: reply.status, ...((await reply.json()) as Record<string, unknown>) };
};
const inside = async (command: string): Promise<string> => (await run(assistant, computer, command)).stdout;
const leftOver = (): Promise<string> => inside("ls -A /var/tmp /tmp /work | grep holdfast || true");

describe("projects out of a computer and into one", () => {
  test("as tar: the files of the last commit go out, and others come in their place as a commit", async () => {
    const project = await client.projects.create({ computer, name: "files", template: "api" });
    await inside(
      "cd /work/files && echo draft > draft.txt && mkdir -p data && echo kept > data/keep.sqlite && echo data/ >> .git/info/exclude",
    );
    const tar = await exported("files", "tar");
    writeFileSync(join(place, "files.tar"), tar);
    const names = execFileSync("tar", ["-tf", join(place, "files.tar")], { encoding: "utf8" });
    assert.match(names, /^server\.py$/m);
    assert.doesNotMatch(names, /draft|\.git\/|sqlite/);

    const archive = tarOf(
      tarEntry({ name: "only.txt", content: "imported\n" }),
      tarEntry({ name: ".gitignore", content: "secret\n" }),
      tarEntry({ name: "secret", content: "tracked all the same\n" }),
      tarEntry({ name: "run.sh", content: "#!/bin/sh\n", mode: 0o755 }),
    );
    const reply = await imported("files", "?format=tar", archive);
    assert.equal(reply["status"], 200, JSON.stringify(reply));
    assert.equal(
      await inside("cd /work/files && git ls-files | tr '\\n' ' '"),
      ".gitignore only.txt run.sh secret ",
    );
    assert.equal(
      await inside(
        "cd /work/files && cat only.txt data/keep.sqlite && test -x run.sh && git show HEAD~1:draft.txt",
      ),
      "imported\nkept\ndraft\n",
    );
    const { commits } = await client.projects.history({ project: project.id });
    assert.equal(commits[0]?.commit, reply["commit"]);
    assert.equal(commits[0]?.deployment, null, "an import starts nothing");
    assert.equal((await client.projects.get({ project: project.id })).state, "running");
    assert.equal(await leftOver(), "");
  });

  test("as a bundle: an engineer takes the history over and hands back commits", async () => {
    const project = await client.projects.create({ computer, name: "code" });
    await inside("cd /work/code && echo one > one.txt");
    await client.projects.deploy({ project: project.id, message: "One" });
    writeFileSync(join(place, "code.bundle"), await exported("code", "bundle"));
    git("clone", "-q", join(place, "code.bundle"), "code");
    assert.match(git("-C", "code", "log", "--format=%s"), /^One\nCreate code from blank\n$/);
    writeFileSync(join(place, "code/two.txt"), "two\n");
    git("-C", "code", "add", "-A");
    git("-C", "code", "commit", "-q", "-m", "Two, by hand");
    git("-C", "code", "bundle", "create", "-q", join(place, "back.bundle"), "main");
    const back = readFileSync(join(place, "back.bundle"));
    const reply = await imported("code", "?format=bundle", back);
    assert.equal(reply["status"], 200, JSON.stringify(reply));
    assert.equal(reply["commit"], git("-C", "code", "rev-parse", "HEAD").trim());
    assert.equal(
      await inside("cd /work/code && cat two.txt && git status --short && git rev-parse --abbrev-ref HEAD"),
      "two\nmain\n",
    );
    const deployed = await client.projects.deploy({ project: project.id });
    assert.equal(deployed.deployment.commit, reply["commit"]);

    // What was done in the folder meanwhile is committed, and is not lost without a word.
    await inside("cd /work/code && echo three > three.txt");
    const diverged = await imported("code", "?format=bundle", back);
    assert.equal(diverged["code"], "wrong_state", JSON.stringify(diverged));
    assert.equal(
      await inside("cd /work/code && git log -1 --format=%s && cat three.txt"),
      "Before an import\nthree\n",
    );
    const forced = await imported("code", "?format=bundle&force=true", back);
    assert.equal(forced["commit"], reply["commit"]);
    assert.equal(
      await inside("cd /work/code && ls && git show-ref | grep -c holdfast || true"),
      "README.md\none.txt\ntwo.txt\n0\n",
    );
    assert.equal(await leftOver(), "");
  });

  test("what is no archive, no bundle, or reaches out is refused and changes nothing", async () => {
    await client.projects.create({ computer, name: "guarded" });
    const head = await inside("cd /work/guarded && git rev-parse HEAD");
    const noise = new Uint8Array(5000).fill(7);
    for (const [query, body, code] of [
      ["?format=tar", noise, "archive_refused"],
      ["?format=tar", tarOf(tarEntry({ name: "../out", content: "x" })), "archive_refused"],
      ["?format=bundle", noise, "git_failed"],
      ["?format=bundle", new TextEncoder().encode("# v2 git bundle\n\n"), "git_failed"],
    ] as const) {
      const reply = await imported("guarded", query, body);
      assert.equal(reply["code"], code, JSON.stringify(reply));
    }
    assert.equal(await inside("cd /work/guarded && git rev-parse HEAD && git status --short"), head);
    assert.equal(await leftOver(), "");
    const stranger = await instance.assistant();
    const reply = await fetch(`${instance.url}/v1/projects/guarded/content`, {
      headers: { authorization: `Bearer ${stranger.secret}` },
    });
    assert.equal(reply.status, 404);
  });

  test("nothing is left of a download that its caller breaks off", async () => {
    await client.projects.create({ computer, name: "large" });
    await inside("cd /work/large && head -c 60000000 /dev/urandom > blob");
    await client.projects.deploy({ project: "large" });
    const aborting = new AbortController();
    const reply = await fetch(`${instance.url}/v1/projects/large/content?format=tar`, {
      headers: { authorization: `Bearer ${assistant.secret}` },
      signal: aborting.signal,
    });
    await reply.body?.getReader().read();
    aborting.abort();
    await until("the temporary file is gone", async () => (await leftOver()) === "");
  });
});
