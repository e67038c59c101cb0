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
  assert.equal(await control.app.host.enrolledOwner(), null);
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
  assert.equal(await control.app.host.enrolledOwner(), owner.name);
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

test("what did not become a key leaves no file, and a wrong code is told as one", async (context) => {
  const control = await startControl(context, postgres);
  const { user, words } = await enrolled(control, context);
  const save = join(user.home, "assistant.key");
  const wrong = ["keys", "create", "helper", "--save", save, "--passphrase-file", "-"];
  assert.equal((await user.run(wrong, "not the passphrase\n")).code, 3);
  await assert.rejects(stat(save), { code: "ENOENT" });
  const enrol = ["owners", "enrol", "--code-file", "-", "--passphrase-file", words];
  const refused = await user.run(enrol, "01234-56789-abcde-fghjk");
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /holdfast owner login/);
  assert.doesNotMatch(refused.stderr, /Bearer/);
});

test("with --owner an owner sees what everybody did, with a key what was done with it", async (context) => {
  const control = await startControl(context, postgres);
  const { user, words } = await enrolled(control, context);
  const save = join(user.home, "assistant.key");
  const made = await user.run(["keys", "create", "helper", "--save", save, "--passphrase-file", words]);
  assert.equal(made.code, 0, made.stderr);
  const operationsOf = async (...more: readonly string[]): Promise<readonly string[]> => {
    const reply = await user.run(["records", "list", "--json", ...more]);
    assert.equal(reply.code, 0, reply.stderr);
    const { records } = JSON.parse(reply.stdout) as { records: readonly { operation: string }[] };
    return records.map(({ operation }) => operation);
  };
  assert.ok(!(await operationsOf("--key-file", save)).includes("key.create"));
  const all = await operationsOf("--key-file", save, "--owner", "owner", "--passphrase-file", words);
  assert.ok(all.includes("key.create"), all.join(", "));
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
  assert.match(typo.stderr, /Did you mean: holdfast computers list\n/);
  const other = await user.run(["computers", "get", "box"]);
  assert.equal(other.code, 2);
  assert.match(other.stderr, /Did you mean: holdfast computers show\n/);
  assert.match(other.stderr, /^ {2}computers show <computer> {2}/m);
  const danger = await user.run(["computers", "destroy", "box"]);
  assert.equal(danger.code, 2);
  assert.match(danger.stderr, /--force/);
  const away = await user.run(["principal", "show", "--context", "default", "--url", "http://127.0.0.1:9"]);
  assert.equal(away.code, 4);
  assert.match(away.stderr, /holdfast up/);
  const file = join(user.home, ".config/holdfast/keys/default.key");
  await chmod(file, 0o644);
  const loose = await user.run(["principal", "show"]);
  assert.equal(loose.code, 1);
  assert.match(loose.stderr, /chmod 600/);
});

test("an address that is not the context's gets a context of its own, and no key goes there", async (context) => {
  const [here, there] = [await startControl(context, postgres), await startControl(context, postgres)];
  const key = (await createKey(here, await enrolOwner(here), "helper")).secret;
  const user = await createCliUser(context, here.url, key);
  const words = await user.secret("passphrase", `${passphrase}\n`);
  const { code } = await there.app.host.loginCode();
  const enrol = ["owners", "enrol", "--code-file", "-", "--passphrase-file", words, "--url", there.url];
  const refused = await user.run([...enrol, "--context", "default"], code);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /for another Holdfast/);
  const reply = await user.run(enrol, code);
  assert.equal(reply.code, 0, reply.stderr);
  const name = new URL(there.url).host.replaceAll(/[.:]/g, "-");
  assert.ok(reply.stderr.includes(`holdfast contexts use ${name}`), reply.stderr);
  const config = JSON.parse(
    await readFile(join(user.home, ".config/holdfast/config.json"), "utf8"),
  ) as unknown;
  assert.deepEqual(config, {
    version: 1,
    current: "default",
    contexts: {
      default: { url: here.url, key_file: "keys/default.key" },
      [name]: { url: there.url, owner: "owner" },
    },
  });
  // The address alone finds its context, and with it who signs in.
  const keys = await user.run(["keys", "list", "--url", there.url, "--passphrase-file", words]);
  assert.equal(keys.code, 0, keys.stderr);
  const keyless = await user.run(["principal", "show", "--url", there.url]);
  assert.equal(keyless.code, 2);
  assert.match(keyless.stderr, /There is no key/);
  // What belongs to an address does not move with its name.
  await user.run(["contexts", "add", "default", "--url", there.url]);
  const moved = await user.run(["contexts", "show", "--json"]);
  assert.deepEqual(JSON.parse(moved.stdout), { name: "default", url: there.url });
  const removed = await user.run(["contexts", "remove", "default"]);
  assert.match(removed.stderr, /No context is in use now/);
  assert.match((await user.run(["principal", "show"])).stderr, /holdfast contexts use/);
});

test("an owner who enrolled with the passphrase itself is told why it opens nothing here", async (context) => {
  const control = await startControl(context, postgres);
  await enrolOwner(control);
  const user = await createCliUser(context, control.url);
  const words = await user.secret("passphrase", `${passphrase}\n`);
  const login = ["owners", "login", "owner", "--passphrase-file", words];
  const refused = await user.run([...login, "--json"]);
  assert.equal(refused.code, 3);
  const { error } = JSON.parse(refused.stderr) as { error: { code: string; cause: string; next: string } };
  assert.equal(error.code, "unauthenticated");
  assert.match(error.cause, /never sent/);
  assert.match(error.next, /owners enrol/);
  // The way it names: a code from the host, and enrolling anew from here.
  const { code } = await control.app.host.loginCode();
  const again = await user.run(["owners", "enrol", "--code-file", "-", "--passphrase-file", words], code);
  assert.equal(again.code, 0, again.stderr);
  assert.equal((await user.run(login)).code, 0);
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

test("the bridge answers everything it was asked before its input ended", async (context) => {
  const control = await startControl(context, postgres);
  const key = (await createKey(control, await enrolOwner(control), "helper")).secret;
  const user = await createCliUser(context, control.url, key);
  const hello = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "printf", version: "0" },
  };
  const messages = [
    { id: 1, method: "initialize", params: hello },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list", params: {} },
    ...[3, 4, 5].map((id) => ({ id, method: "tools/call", params: { name: "whoami", arguments: {} } })),
  ];
  const input = messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");
  const reply = await user.run(["mcp"], input);
  assert.equal(reply.code, 0, reply.stderr);
  const answers = reply.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: number; error?: unknown });
  assert.deepEqual(
    answers.map(({ id }) => id).toSorted((one, other) => one - other),
    [1, 2, 3, 4, 5],
  );
  assert.deepEqual(
    answers.filter(({ error }) => error !== undefined),
    [],
  );
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
