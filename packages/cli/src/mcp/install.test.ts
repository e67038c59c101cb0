import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { CliError } from "../errors.ts";
import { clientNames, clients, type Connection } from "./clients.ts";
import { install } from "./install.ts";

const http: Connection = { kind: "http", url: "http://127.0.0.1:7300/mcp", key: "hf_secret" };
const stdio: Connection = {
  kind: "stdio",
  command: "/usr/bin/node",
  args: ["/x/holdfast.mjs", "mcp"],
  environment: {},
};

const directory = async (context: TestContext): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), "holdfast-install-"));
  context.after(() => rm(path, { recursive: true, force: true }));
  return path;
};

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

for (const name of clientNames)
  test(`${name}: a new file, and again without a change`, async (context) => {
    const path = join(await directory(context), "sub/config");
    const block = clients[name].block("holdfast", clients[name].http ? http : stdio);
    assert.deepEqual(await install(path, block), { backup: undefined });
    const once = await readFile(path, "utf8");
    assert.equal(once, block.text);
    assert.equal(once.includes("hf_secret"), block.holdsKey);
    if (block.holdsKey) assert.equal(await modeOf(path), 0o600);
    await install(path, block);
    assert.equal(await readFile(path, "utf8"), once);
  });

test("what else is in the file stays, and a backup of it is kept", async (context) => {
  const path = join(await directory(context), "mcp.json");
  const before =
    '{\n\t"theme": "dark",\n\t"mcpServers": {"other": {"command": "x"}, "holdfast": {"old": 1}}\n}\n';
  await writeFile(path, before, { mode: 0o644 });
  const { backup } = await install(path, clients.cursor.block("holdfast", http));
  assert.equal(await readFile(backup ?? "", "utf8"), before);
  assert.deepEqual(await install(path, clients.cursor.block("holdfast", http)), { backup: undefined });
  assert.equal(await readFile(backup ?? "", "utf8"), before, "a repeat keeps the backup");
  assert.equal(await modeOf(backup ?? ""), 0o600);
  assert.equal(await modeOf(path), 0o600);
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), {
    theme: "dark",
    mcpServers: {
      other: { command: "x" },
      holdfast: { url: "http://127.0.0.1:7300/mcp", headers: { Authorization: "Bearer hf_secret" } },
    },
  });
});

test("VS Code's list of inputs keeps the others and has ours once", async (context) => {
  const path = join(await directory(context), "mcp.json");
  await writeFile(path, JSON.stringify({ inputs: [{ id: "mine" }, { id: "holdfast-key", old: true }] }));
  await install(path, clients.vscode.block("holdfast", http));
  const { inputs } = JSON.parse(await readFile(path, "utf8")) as { inputs: { id: string; old?: boolean }[] };
  assert.deepEqual(
    inputs.map(({ id, old }) => [id, old]),
    [
      ["mine", undefined],
      ["holdfast-key", undefined],
    ],
  );
});

test("a link to the file is kept, its target written", async (context) => {
  const path = await directory(context);
  await writeFile(join(path, "real.json"), "{}");
  await symlink("real.json", join(path, "link.json"));
  await install(join(path, "link.json"), clients.cursor.block("holdfast", stdio));
  assert.match(await readFile(join(path, "real.json"), "utf8"), /mcpServers/);
});

for (const [what, text] of [
  ["comments", '{ // mine\n "mcpServers": {} }'],
  ["a list", "[]"],
  ["servers that are no object", '{"mcpServers": []}'],
  ["half a file", '{"mcpServers": {'],
] as const)
  test(`a file that is not understood is left as it is: ${what}`, async (context) => {
    const path = join(await directory(context), "mcp.json");
    await writeFile(path, text);
    await assert.rejects(install(path, clients.cursor.block("holdfast", http)), CliError);
    assert.equal(await readFile(path, "utf8"), text);
  });
