import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { OperationOutput } from "@holdfast/contract";
import { type CliUser, createCliUser } from "../support/cli.ts";
import { createComputer, run } from "../support/computer.ts";
import { useInstance } from "../support/instance.ts";

type Project = OperationOutput<"project.get">;

const instance = await useInstance();

/** Somebody at a command line with a key, a computer, and a project on it. */
const start = async (context: TestContext, template: string) => {
  const assistant = await instance.assistant();
  const computer = await createComputer(assistant);
  const cli = await createCliUser(context, instance.url, assistant.secret);
  const slug = `cli-${randomBytes(4).toString("hex")}`;
  const options = ["--slug", slug, "--template", template, "--json"];
  const made = await cli.run(["projects", "create", computer, "shop", ...options]);
  assert.equal(made.code, 0, made.stderr);
  return { assistant, cli, computer, project: JSON.parse(made.stdout) as Project, slug };
};

const good = async (cli: CliUser, argv: readonly string[], input?: string, cwd?: string): Promise<string> => {
  const { code, stderr, stdout } = await cli.run(argv, input, cwd);
  assert.equal(code, 0, `${argv.join(" ")}: ${stderr}`);
  return stdout;
};

test("a project is made, shown, changed, deployed, compared and brought back", {
  timeout: 120_000,
}, async (context) => {
  const { assistant, cli, computer, project, slug } = await start(context, "web-app");
  assert.equal(project.state, "running");
  assert.match(project.address, new RegExp(`^http://${slug}\\.localhost:\\d+$`));

  const { name } = await assistant.client.computers.get({ computer });
  const list = await good(cli, ["projects", "list"]);
  assert.match(list, new RegExp(`^${slug} +running +private +${project.address} +${name} `, "m"));
  const shown = await good(cli, ["projects", "show", slug]);
  assert.match(shown, new RegExp(`^address: +${project.address}$`, "m"));
  assert.match(shown, new RegExp(`^computer: +${name}$`, "m"));
  assert.match(shown, /^shop-web +ready +\d+ +0 /m);

  const form = JSON.parse(await good(cli, ["projects", "show", slug, "--definition"])) as {
    web: string;
    services: { name: string; environment?: Record<string, string> }[];
  };
  assert.deepEqual([form.web, form.services.length], ["web", 1]);
  Object.assign(form.services[0] ?? {}, { environment: { COLOUR: "blue" } });
  await writeFile(join(cli.home, "holdfast.json"), JSON.stringify(form));
  await good(cli, ["projects", "update", slug, "--definition", "holdfast.json"]);
  assert.deepEqual(JSON.parse(await good(cli, ["projects", "show", slug, "--definition"])), form);
  await good(cli, ["projects", "update", slug, "--definition", "-"], JSON.stringify(form));
  const broken = await cli.run(["projects", "update", slug, "--definition", "-"], "{");
  assert.deepEqual([broken.code, /holds no definition/.test(broken.stderr)], [2, true]);
  assert.equal((await cli.run(["projects", "update", slug])).code, 2);

  await run(assistant, computer, "printf 'a\\033[2Jb\\n' > /work/shop/public/note.txt");
  const diff = await good(cli, ["projects", "diff", slug]);
  assert.ok(diff.includes("+a\x1b[2Jb\n"), "a pipe gets the diff as it is");
  const deployed = await good(cli, ["projects", "deploy", slug, "--message", "Add a note", "--json"]);
  const { deployment } = JSON.parse(deployed) as OperationOutput<"project.deploy">;
  const history = (await good(cli, ["projects", "history", slug])).split("\n");
  assert.match(
    history[1] ?? "",
    new RegExp(`^${deployment.commit.slice(0, 10)}  .* asst_\\w+ .* Add a note$`),
  );
  const first = history[2]?.split(" ")[0] ?? "";
  await good(cli, ["projects", "restore", slug, first]);
  const gone = await cli.run(["files", "read", computer, "/work/shop/public/note.txt"]);
  assert.equal(gone.code, 1);

  await good(
    cli,
    ["projects", "update", slug, "--definition", "-"],
    JSON.stringify({
      web: "web",
      services: [{ name: "web", argv: ["false"], restart: { policy: "never" } }],
    }),
  );
  const failed = await cli.run(["projects", "deploy", slug]);
  assert.deepEqual([failed.code, /holdfast logs/.test(failed.stderr)], [1, true], failed.stderr);
  assert.equal((await cli.run(["projects", "destroy", slug])).code, 2, "it needs a word");
  await good(cli, ["projects", "destroy", slug, "--force"]);
  assert.equal((await cli.run(["projects", "show", slug])).code, 1);
});

test("an engineer takes a project over with git, and loses nobody's commits", {
  timeout: 120_000,
}, async (context) => {
  const { assistant, cli, computer, slug } = await start(context, "blank");
  const git = (...words: string[]): string =>
    execFileSync("git", ["-c", "user.name=Eva", "-c", "user.email=eva@example.org", ...words], {
      cwd: clone,
      env: { ...cli.environment },
      encoding: "utf8",
    });
  const clone = join(cli.home, slug);
  await good(cli, ["projects", "clone", slug]);
  assert.equal(git("config", "holdfast.project").trim(), slug);
  assert.equal(git("config", "holdfast.context").trim(), "default");
  assert.equal(git("rev-parse", "holdfast/main"), git("rev-parse", "HEAD"));
  assert.equal((await cli.run(["projects", "clone", slug])).code, 2, "never into what is there");

  await appendFile(join(clone, "README.md"), "More.\n");
  const dirty = await cli.run(["projects", "push"], undefined, clone);
  assert.deepEqual([dirty.code, /README\.md/.test(dirty.stderr)], [1, true], dirty.stderr);
  git("commit", "-qam", "Say more");
  await good(cli, ["projects", "push"], undefined, clone);
  assert.equal(git("rev-parse", "holdfast/main"), git("rev-parse", "HEAD"));
  assert.match((await run(assistant, computer, "cat /work/shop/README.md")).stdout, /More\.\n$/);

  // The assistant goes on, without a commit of its own even.
  await run(assistant, computer, "echo idea > /work/shop/idea.txt");
  git("commit", "-q", "--allow-empty", "-m", "Mine");
  const behind = await cli.run(["projects", "push"], undefined, clone);
  assert.deepEqual([behind.code, /moved on/.test(behind.stderr)], [1, true], behind.stderr);
  assert.match(behind.stderr, /projects pull/);
  const apart = await cli.run(["projects", "pull"], undefined, clone);
  assert.deepEqual([apart.code, /git merge holdfast\/main/.test(apart.stderr)], [1, true], apart.stderr);
  git("merge", "-q", "-m", "Bring together", "holdfast/main");
  assert.equal(await readFile(join(clone, "idea.txt"), "utf8"), "idea\n");
  const pushed = await good(cli, ["projects", "push", "--deploy", "--json"], undefined, clone);
  const { deployment } = JSON.parse(pushed) as OperationOutput<"project.deploy">;
  assert.equal(deployment.commit, git("rev-parse", "HEAD").trim());

  await run(assistant, computer, "echo more >> /work/shop/idea.txt");
  await good(cli, ["projects", "deploy", slug]);
  await good(cli, ["projects", "pull"], undefined, clone);
  assert.equal(await readFile(join(clone, "idea.txt"), "utf8"), "idea\nmore\n");

  git("reset", "-q", "--hard", "HEAD~1");
  assert.equal((await cli.run(["projects", "push"], undefined, clone)).code, 1);
  await good(cli, ["projects", "push", "--force"], undefined, clone);
  assert.equal((await run(assistant, computer, "cat /work/shop/idea.txt")).stdout, "idea\n");

  const elsewhere = await cli.run(["projects", "push"]);
  assert.deepEqual([elsewhere.code, /no clone of a project/.test(elsewhere.stderr)], [2, true]);
  const left = (await readdir(tmpdir())).filter((entry) => /^holdfast-[A-Za-z0-9]{6}$/.test(entry));
  assert.deepEqual(left, [], "nothing of it stays in the temporary directory");
});

test("a project leaves as files and as a bundle, and another takes it", {
  timeout: 120_000,
}, async (context) => {
  const { assistant, cli, computer, slug } = await start(context, "blank");
  await run(assistant, computer, "echo content > /work/shop/file.txt");
  await good(cli, ["projects", "deploy", slug]);
  await good(cli, ["projects", "export", slug, "files.tar"]);
  const tar = execFileSync("tar", ["-tf", join(cli.home, "files.tar")], { encoding: "utf8" });
  assert.deepEqual(tar.split("\n").includes("file.txt"), true, tar);
  await good(cli, ["projects", "export", slug, "all.bundle"]);
  const other = JSON.parse(
    await good(cli, ["projects", "create", computer, "other", "--template", "blank", "--json"]),
  ) as Project;
  await good(cli, ["projects", "import", other.slug, "all.bundle", "--force"]);
  assert.equal((await run(assistant, computer, "cat /work/other/file.txt")).stdout, "content\n");
  await run(assistant, computer, "rm /work/other/file.txt");
  await good(
    cli,
    ["projects", "import", other.slug],
    (await readFile(join(cli.home, "files.tar"))).toString("latin1"),
  );
  assert.equal((await run(assistant, computer, "cat /work/other/file.txt")).stdout, "content\n");
  assert.equal((await cli.run(["projects", "import", other.slug, "none.tar"])).code, 1);
});
