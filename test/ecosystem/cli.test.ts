import assert from "node:assert/strict";
import { chmod, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createCliUser } from "../support/cli.ts";
import { createKey, enrolOwner, passphrase, startControl, type TestControl } from "../support/control.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

const enrolled = async (control: TestControl, context: Parameters<typeof createCliUser>[0]) => {
  const user = await createCliUser(context, control.url);
  const { code } = await control.app.host.loginCode();
  const words = await user.secret("passphrase", `${passphrase}\n`);
  const reply = await user.run(
    ["owners", "enrol", "--code-file", "-", "--passphrase-file", words, "--json"],
    code,
  );
  assert.equal(reply.code, 0, reply.stderr);
  return {
    user,
    words,
    owner: JSON.parse(reply.stdout) as { name: string; state: string; key_fingerprint: string },
  };
};

test("an owner enrols, makes a key into a file, and the key works", async (context) => {
  const control = await startControl(context, postgres);
  const { owner, user, words } = await enrolled(control, context);
  assert.equal(owner.state, "active");
  assert.match(owner.key_fingerprint, /^[\w-]{43}$/);
  const save = join(user.home, "assistant.key");
  const made = await user.run(["keys", "create", "helper", "--save", save, "--passphrase-file", words]);
  assert.equal(made.code, 0, made.stderr);
  assert.equal((await stat(save)).mode & 0o777, 0o600);
  const secret = (await readFile(save, "utf8")).trim();
  assert.ok(!made.stdout.includes(secret) && !made.stderr.includes(secret));
  const who = await user.run(["principal", "show", "--key-file", save, "--json"]);
  assert.equal((JSON.parse(who.stdout) as { name: string }).name, "helper");
  const again = await user.run(["keys", "create", "other", "--save", save, "--passphrase-file", words]);
  assert.equal(again.code, 1);
  assert.equal((await readFile(save, "utf8")).trim(), secret, "an existing file is never overwritten");
});

test("a wrong passphrase is told as such, and nothing is asked where nobody is", async (context) => {
  const control = await startControl(context, postgres);
  const { user } = await enrolled(control, context);
  const wrong = await user.run(["keys", "list", "--passphrase-file", "-"], "not the passphrase\n");
  assert.equal(wrong.code, 3);
  assert.match(wrong.stderr, /no owner owner with this passphrase/);
  const asked = await user.run(["keys", "list"]);
  assert.equal(asked.code, 2);
  assert.match(asked.stderr, /--passphrase-file/);
});

test("data on stdout, words on stderr, JSON when asked, codes that scripts can use", async (context) => {
  const control = await startControl(context, postgres);
  const key = (await createKey(control, await enrolOwner(control), "helper")).secret;
  const user = await createCliUser(context, control.url, key);
  const shown = await user.run(["principal", "show"]);
  assert.match(shown.stdout, /^name: +helper$/m);
  assert.equal(shown.stderr, "");
  const bad = await user.run(["records", "list", "--limit", "0", "--json"]);
  assert.equal(bad.code, 1);
  assert.equal(bad.stdout, "");
  assert.equal((JSON.parse(bad.stderr) as { error: { code: string } }).error.code, "invalid_input");
  const typo = await user.run(["computrs", "list"]);
  assert.deepEqual([typo.code, typo.stdout], [2, ""]);
  assert.match(typo.stderr, /Did you mean computers/);
  const danger = await user.run(["computers", "destroy", "box"]);
  assert.equal(danger.code, 2);
  assert.match(danger.stderr, /--force/);
  const away = await user.run(["principal", "show", "--url", "http://127.0.0.1:9"]);
  assert.equal(away.code, 4);
  assert.match(away.stderr, /holdfast up/);
  const file = join(user.home, ".config/holdfast/keys/default.key");
  await chmod(file, 0o644);
  const loose = await user.run(["principal", "show"]);
  assert.equal(loose.code, 1);
  assert.match(loose.stderr, /chmod 600/);
});

test("the stdio bridge shows the same tools and results as /mcp, in both eras", async (context) => {
  const control = await startControl(context, postgres);
  const key = (await createKey(control, await enrolOwner(control), "helper")).secret;
  const user = await createCliUser(context, control.url, key);
  const client = async (mode: "legacy" | { pin: string }): Promise<Client> => {
    const made = new Client({ name: "test", version: "0" }, { versionNegotiation: { mode } });
    await made.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [user.program, "mcp"],
        env: { ...user.environment },
      }),
    );
    context.after(() => made.close());
    return made;
  };
  const direct = await fetch(`${control.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${key}`,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
  });
  const data = /^data: (.*)$/m.exec(await direct.text())?.[1] ?? "{}";
  const { result } = JSON.parse(data) as { result: { tools: unknown } };
  for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
    const bridged = await client(mode);
    assert.deepEqual((await bridged.listTools()).tools, result.tools);
    assert.match(bridged.getInstructions() ?? "", /computer_list/);
    await assert.rejects(bridged.callTool({ name: "nothing", arguments: {} }), /Unknown tool/);
    const refused = await bridged.callTool({ name: "record_list", arguments: { limit: 0 } });
    assert.equal(refused.isError, true);
  }
});

test("a bridge without a valid key says so to the model", async (context) => {
  const control = await startControl(context, postgres);
  const user = await createCliUser(context, control.url, "hf_wrong");
  const client = new Client({ name: "test", version: "0" });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [user.program, "mcp"],
      env: { ...user.environment },
    }),
  );
  context.after(() => client.close());
  const result = await client.callTool({ name: "whoami", arguments: {} });
  assert.equal(result.isError, true);
  assert.match(JSON.stringify(result.content), /refused the key/);
});
