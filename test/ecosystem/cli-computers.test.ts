import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createCliUser } from "../support/cli.ts";
import { createComputer } from "../support/computer.ts";
import { useInstance } from "../support/instance.ts";
import { typeInto } from "../support/typed.ts";

const instance = await useInstance();

const user = async (context: TestContext) => {
  const assistant = await instance.assistant();
  const computer = await createComputer(assistant);
  return { cli: await createCliUser(context, instance.url, assistant.secret), computer, assistant };
};

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

test("exec passes output, input and the exit code on", { timeout: 60_000 }, async (context) => {
  const { cli, computer } = await user(context);
  const both = await cli.run(["exec", computer, "--command", "echo out; echo err >&2; exit 7"]);
  assert.deepEqual(both, { code: 7, stdout: "out\n", stderr: "err\n" });
  const words = await cli.run(["exec", computer, "--", "printf", "%s|", "a b", "ü", "--help", "$HOME"]);
  assert.equal(words.stdout, "a b|ü|--help|$HOME|");
  const killed = await cli.run(["exec", computer, "--", "sh", "-c", "kill -9 $$"]);
  assert.equal(killed.code, 137);
  const missing = await cli.run(["exec", computer, "--", "no-such-program"]);
  assert.equal(missing.code, 125);
  const bytes = randomBytes(3_000_000);
  const sum = await cli.run(["exec", computer, "--stdin", "--", "sha256sum"], bytes);
  assert.equal(sum.stdout.split(" ")[0], sha256(bytes));
  const endless = await cli.run(["exec", computer, "--stdin", "--", "head", "-c", "5"], bytes);
  assert.equal(endless.code, 0);
});

test("files go up and down whole", { timeout: 60_000 }, async (context) => {
  const { cli, computer } = await user(context);
  const bytes = randomBytes(5_000_000);
  await writeFile(join(cli.home, "a b ü.bin"), bytes, { mode: 0o640 });
  await mkdir(join(cli.home, "site/sub"), { recursive: true });
  await writeFile(join(cli.home, "site/sub/page"), "page");
  const up = await cli.run(["files", "upload", computer, "a b ü.bin", "/work/up/", "--json"]);
  assert.equal(up.code, 0, up.stderr);
  assert.deepEqual(
    (({ mode, path, size_bytes: size }) => ({ mode, path, size }))(
      JSON.parse(up.stdout) as { mode: string; path: string; size_bytes: number },
    ),
    { mode: "0640", path: "/work/up/a b ü.bin", size: bytes.length },
  );
  const down = await cli.run(["files", "download", computer, "/work/up/a b ü.bin", "back.bin"]);
  assert.equal(down.code, 0, down.stderr);
  assert.equal(sha256(await readFile(join(cli.home, "back.bin"))), sha256(bytes));
  const tree = await cli.run(["files", "upload", computer, "site", "/work/site"]);
  assert.equal(tree.code, 0, tree.stderr);
  assert.equal((await cli.run(["files", "read", computer, "/work/site/sub/page"])).stdout, "page");
  const folder = await cli.run(["files", "download", computer, "/work/site"]);
  assert.equal(folder.code, 2);
  assert.match(folder.stderr, /files export/);
});

test("a service is declared, read and deleted; a dangerous act needs a word", {
  timeout: 60_000,
}, async (context) => {
  const { cli, computer } = await user(context);
  const command = ["--command", "echo hello; exec sleep 1000"];
  const made = await cli.run([
    "services",
    "create",
    computer,
    "web",
    ...command,
    "--restart-policy",
    "on_failure",
    "--json",
  ]);
  assert.equal(made.code, 0, made.stderr);
  assert.equal((JSON.parse(made.stdout) as { restart: { policy: string } }).restart.policy, "on_failure");
  assert.equal((await cli.run(["logs", computer, "web"])).stdout, "hello\n");
  assert.match((await cli.run(["services", "list", computer])).stdout, /^NAME +STATE.*\nweb +ready/);
  const changed = await cli.run(["services", "update", computer, "web", "--environment", "A=b=c"]);
  assert.equal(changed.code, 0, changed.stderr);
  assert.equal((await cli.run(["services", "delete", computer, "web"])).code, 2);
  assert.equal((await cli.run(["services", "delete", computer, "web", "--force"])).code, 0);
});

test("the stdio bridge outlives a kill of control in the middle of a conversation", {
  timeout: 60_000,
}, async (context) => {
  const { cli, computer } = await user(context);
  const client = new Client({ name: "test", version: "0" });
  const transport = { command: process.execPath, args: [cli.program, "mcp"], env: { ...cli.environment } };
  await client.connect(new StdioClientTransport(transport));
  context.after(() => client.close());
  const exec = async (): Promise<string> =>
    JSON.stringify(await client.callTool({ name: "exec", arguments: { computer, command: "echo here" } }));
  assert.match(await exec(), /"stdout":"here/);
  const { control } = await instance.programs();
  assert.ok(control?.pid);
  process.kill(control.pid, "SIGKILL");
  assert.match(await exec(), /"stdout":"here/);
});

test("a terminal takes keys, shows UTF-8, detaches and attaches again with its history", {
  timeout: 60_000,
}, async (context) => {
  const { assistant, cli, computer } = await user(context);
  const first = await typeInto(
    cli,
    ["terminal", computer],
    [
      ["# ", "echo gr\u00fc\u00df $((40 + 2)); stty size\n"],
      ["24 80", "\x1d"],
    ],
  );
  assert.equal(first.code, 0, first.screen);
  assert.match(first.screen, /gr\u00fc\u00df 42\r\n24 80/);
  assert.match(first.screen, /Detached; it goes on/);
  const { processes } = await assistant.client.processes.list({ computer, state: "running" });
  const { id } = processes.find(({ terminal }) => terminal) ?? {};
  assert.ok(id);
  const second = await typeInto(cli, ["terminal", computer, "--process", id], [["24 80", "exit 5\n"]]);
  assert.match(second.screen, /gr\u00fc\u00df 42/);
  assert.equal(second.code, 5, second.screen);
});
