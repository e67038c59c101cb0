import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { OperationOutput } from "@holdfast/contract";
import { visit } from "../../examples/quickstart/address.ts";
import { createCliUser } from "../support/cli.ts";
import { createComputer } from "../support/computer.ts";
import { useInstance } from "../support/instance.ts";
import { typeInto } from "../support/typed.ts";

const instance = await useInstance();

/** An owner at a command line, and an assistant's project. */
const start = async (context: TestContext) => {
  const assistant = await instance.assistant();
  const computer = await createComputer(assistant);
  const slug = `own-${randomBytes(4).toString("hex")}`;
  const project = await assistant.client.projects.create({
    computer,
    name: "app",
    slug,
    template: "webhook-inbox",
  });
  const cli = await createCliUser(context, instance.url, assistant.secret);
  const owner = await instance.owner();
  const invited = await owner.owners.invite({ name: slug });
  context.after(async () => void (await (await instance.owner()).owners.remove({ owner: invited.owner.id })));
  const words = await cli.secret("passphrase", "some words nobody knows\n");
  const enrolled = await cli.run(
    ["owners", "enrol", "--code-file", "-", "--passphrase-file", words],
    invited.code,
  );
  assert.equal(enrolled.code, 0, enrolled.stderr);
  const asOwner = ["--passphrase-file", words] as const;
  return { address: project.address, asOwner, assistant, cli, slug };
};

test("an owner publishes a part, then all, and closes it again", { timeout: 120_000 }, async (context) => {
  const { address, asOwner, assistant, cli, slug } = await start(context);
  const statusOf = async (path: string): Promise<number> => (await visit(address, path)).status;
  assert.equal(await statusOf("/"), 404);
  const rules = ["--rule", "GET /healthz", "--rule", "POST /hooks/*"];
  const part = await cli.run(["projects", "publish", slug, ...rules, ...asOwner]);
  assert.equal(part.code, 0, part.stderr);
  assert.match(part.stdout, /^visibility: +published: GET \/healthz, POST \/hooks\/\*$/m);
  assert.deepEqual([await statusOf("/healthz"), await statusOf("/")], [200, 404]);
  const all = await cli.run(["projects", "publish", slug, ...asOwner]);
  assert.match(all.stdout, /^visibility: +published$/m);
  assert.equal(await statusOf("/"), 200);
  // The assistant may close it, not open it.
  const closed = await cli.run(["projects", "unpublish", slug]);
  assert.match(closed.stdout, /^visibility: +private$/m);
  assert.equal(await statusOf("/"), 404);
  await assert.rejects(assistant.client.projects.publish({ project: slug }));
  const wrong = await cli.run(["projects", "publish", slug, "--rule", "hooks", ...asOwner]);
  assert.deepEqual([wrong.code, /POST \/hooks\/\*/.test(wrong.stderr)], [2, true]);

  const access = await cli.run(["projects", "access", slug]);
  assert.equal(access.code, 0, access.stderr);
  assert.match(access.stdout, /^WHEN +METHOD +STATUS[\s\S]*GET +200 [^\n]*visitor [^\n]*\/healthz$/m);
});

test("the browser gets the link that works once, and the terminal only where there is none", {
  timeout: 120_000,
}, async (context) => {
  const { address, asOwner, cli, slug } = await start(context);
  const open = ["projects", "open", slug, ...asOwner];
  const printed = await cli.run(open);
  assert.equal(printed.code, 0, printed.stderr);
  const link = printed.stdout.trim();
  assert.ok(link.startsWith(`${address}/.holdfast/`), link);
  const json = await cli.run([...open, "--json", "--port", "9229"]);
  const other = JSON.parse(json.stdout) as OperationOutput<"project.open">;
  assert.ok(other.url.startsWith(address.replace("://", "://9229--")), other.url);

  const bin = join(cli.home, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "xdg-open"), `#!/bin/sh\necho "$#" "$@" > ${cli.home}/opened\n`);
  await chmod(join(bin, "xdg-open"), 0o755);
  const desktop = { DISPLAY: ":9", PATH: `${bin}:${cli.environment["PATH"] ?? ""}` };
  const { code, screen } = await typeInto(cli, open, [], desktop);
  assert.equal(code, 0, screen);
  const [count, opened = ""] = (await readFile(join(cli.home, "opened"), "utf8")).trim().split(" ");
  assert.equal(count, "1");
  assert.ok(opened.startsWith(`${address}/.holdfast/`), opened);
  assert.match(screen, /Opened http/);
  const secret = [...new URL(opened).searchParams.values()].join() || new URL(opened).pathname;
  assert.ok(!screen.includes(secret) && !screen.includes("/.holdfast/"), "the link is not on the terminal");

  await writeFile(join(bin, "xdg-open"), "#!/bin/sh\nexit 3\n");
  const failed = await typeInto(cli, open, [], desktop);
  assert.equal(failed.code, 0);
  assert.match(failed.screen, /No browser could be opened/);
  assert.ok(failed.screen.includes("/.holdfast/"), failed.screen);
  const refused = await typeInto(cli, [...open, "--no-browser"], [], desktop);
  assert.ok(refused.screen.includes("/.holdfast/"), refused.screen);
});

test("a share is made, works, is listed without its secret, and is revoked", {
  timeout: 120_000,
}, async (context) => {
  const { address, asOwner, cli, slug } = await start(context);
  const made = await cli.run([
    "shares",
    "create",
    slug,
    "--label",
    "for Ada",
    "--expires-in",
    "1h",
    ...asOwner,
  ]);
  assert.equal(made.code, 0, made.stderr);
  const link = made.stdout.trim().split("\n").at(-1) ?? "";
  assert.ok(link.startsWith(`${address}/`), link);
  const json = JSON.parse(
    (await cli.run(["shares", "list", slug, "--json", ...asOwner])).stdout,
  ) as OperationOutput<"share.list">;
  const [share] = json.shares;
  assert.ok(share);
  const secret = link.split(/[/?=#]/).at(-1) ?? "";
  assert.ok(secret.length > 20 && !JSON.stringify(json).includes(secret));
  const list = await cli.run(["shares", "list", slug, ...asOwner]);
  assert.match(list.stdout, new RegExp(`^${share.id} +open .*for Ada$`, "m"));
  assert.equal((await cli.run(["shares", "revoke", slug, share.id, ...asOwner])).code, 2, "it needs a word");
  assert.equal((await cli.run(["shares", "revoke", slug, share.id, "--force", ...asOwner])).code, 0);
  const after = await cli.run(["shares", "list", slug, ...asOwner]);
  assert.match(after.stdout, new RegExp(`^${share.id} +revoked `, "m"));
});
