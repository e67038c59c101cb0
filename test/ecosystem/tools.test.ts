import assert from "node:assert/strict";
import { test } from "node:test";
import { limits, operations } from "@holdfast/contract";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { useInstance } from "../support/instance.ts";
import { useHeldWork } from "./held-work.ts";

const instance = await useInstance();

interface Called {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

const connect = async (key: string, mode: "legacy" | { pin: string }) => {
  const client = new Client({ name: "test", version: "0" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${instance.url}/mcp`), { requestInit: { headers } }),
  );
  const used = new Set<string>();
  /** The official client checks every result against the tool's output schema and throws when it does not fit. */
  const call = async (name: string, args: Readonly<Record<string, unknown>>): Promise<Called> => {
    used.add(name);
    const result: CallToolResult = await client.callTool({ name, arguments: { ...args } });
    const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    assert.ok(text !== "", name);
    return {
      text,
      data: (result.structuredContent ?? {}) as Called["data"],
      isError: result.isError === true,
    };
  };
  const good = async (name: string, args: Readonly<Record<string, unknown>>): Promise<Called> => {
    const called = await call(name, args);
    assert.equal(called.isError, false, `${name}: ${called.text}`);
    return called;
  };
  return { client, call, good, used };
};

/** A call that is waited for as long as it ever is. It begins here, so that the other tests' time is its time. */
const outlasting = async () => {
  const connected = await connect((await instance.assistant()).secret, { pin: "2026-07-28" });
  await connected.good("computer_create", { name: "box" });
  const began = performance.now();
  const command = "until [ -e /work/go ]; do sleep 0.2; done; echo done";
  const slow = await connected.good("exec", { computer: "box", command });
  return { ...connected, slow, waitedMs: performance.now() - began };
};
const patience = outlasting();
// Told by the test that waits for it.
patience.catch(() => {});

for (const [era, mode] of [
  ["2025", "legacy"],
  ["2026-07-28", { pin: "2026-07-28" }],
] as const)
  test(`${era}: every tool does its work, and every result fits its schema`, {
    timeout: 300_000,
  }, async () => {
    const { secret } = await instance.assistant();
    const { call, client, good, used } = await connect(secret, mode);
    await client.listTools();
    await good("whoami", {});
    const made = await good("computer_create", { name: "box", idempotency_key: "one" });
    assert.match(made.text, /^box \(cmp_\w+\) is awake, small/);
    const again = await good("computer_create", { name: "box", idempotency_key: "one" });
    assert.equal(again.data["id"], made.data["id"]);
    await good("computer_list", {});
    const { data: box } = await good("computer_get", { computer: "box" });
    await good("computer_update", { computer: "box", description: "of a test", if_match: box["version"] });
    await good("computer_usage", { computer: "box" });
    const on = { computer: "box" };

    const failed = await good("exec", { ...on, command: "echo out; echo err >&2; exit 3" });
    assert.match(failed.text, /^exit code 3 \(process prc_\w+\)\n--- stdout ---\nout\n--- stderr ---\nerr$/);
    const slow = await good("exec", { ...on, command: "echo a; sleep 1; echo b", wait_ms: 100 });
    const { id } = slow.data["process"] as { readonly id: string };
    assert.match(slow.text, new RegExp(`^still running \\(process ${id}\\)`));
    const ended = await good("process_get", { ...on, process: id, wait_ms: 10_000 });
    assert.match(ended.text, /exit code 0/);
    const rest = await good("process_output", { ...on, process: id, cursor: slow.data["next_cursor"] });
    assert.match(rest.text, /^--- stdout ---\nb\n/);
    const { data: cat } = await good("process_start", { ...on, command: "cat", stdin_open: true });
    await good("process_input", { ...on, process: cat["id"], text: "hello\n" });
    await good("process_signal", { ...on, process: cat["id"], signal: "KILL" });
    await good("process_list", on);

    const path = "/work/site/a.txt";
    await good("file_write", { ...on, path, content: "one\ntwo\n" });
    await good("file_edit", { ...on, path, edits: [{ old: "two", new: "2" }] });
    assert.match((await good("file_read", { ...on, path })).text, /\none\n2\n/);
    await good("file_list", { ...on, path: "/work" });
    await good("file_stat", { ...on, path });
    await good("file_mkdir", { ...on, path: "/work/other" });
    await good("file_move", { ...on, path, to: "/work/other/b.txt" });
    await good("file_delete", { ...on, path: "/work/other", recursive: true });

    const web = { ...on, service: "web" };
    await good("service_create", { ...on, name: "web", command: "python3 -m http.server 8000", port: 8000 });
    for (const verb of ["stop", "start", "restart"]) await good(`service_${verb}`, web);
    const { data: service } = await good("service_get", web);
    await good("service_update", { ...web, environment: { A: "1" }, if_match: service["version"] });
    await good("service_list", on);
    await good("service_logs", web);
    assert.match((await good("port_list", on)).text, /:8000/);
    await good("service_delete", web);

    const project = await good("project_create", { ...on, name: "shop", template: "static-site" });
    assert.match(project.text, /^shop\S* \(prj_\w+\) is running, private: http:\/\/shop/);
    const { slug, version } = project.data;
    const of = { project: slug };
    assert.match((await good("project_list", {})).text, /is running, private/);
    await good("project_update", { ...of, description: "of a test", if_match: version });
    await good("file_write", { ...on, path: "/work/shop/note.txt", content: "note\n" });
    assert.match((await good("project_diff", of)).text, /^\+note$/m);
    const deployed = await good("project_deploy", { ...of, message: "A note" });
    assert.match(deployed.text, /^Deployed [0-9a-f]{12} \(A note\)\.\nshop/);
    assert.equal((await good("project_diff", of)).text, "Nothing has changed.");
    const history = await good("project_history", of);
    assert.match(
      history.text,
      /^[0-9a-f]{12} .*: A note, deployed\n[0-9a-f]{12} .*: Create shop from static-site, deployed$/,
    );
    const first = (history.data["commits"] as { readonly commit: string }[])[1]?.commit;
    await good("project_restore", { ...of, commit: first });
    await good("project_unpublish", of);
    await good("project_access", of);
    assert.match((await good("project_get", of)).text, /Next:\n- .*project_deploy/);
    await good("project_destroy", { ...of, delete_files: true });

    await useHeldWork(good);
    for (const verb of ["sleep", "wake", "stop", "destroy"]) await good(`computer_${verb}`, on);
    await good("record_list", { limit: 3 });
    const gone = await call("exec", { ...on, command: "true" });
    assert.ok(gone.isError);
    assert.match(gone.text, /^not_found: /);

    const all = Object.values(operations).flatMap(({ tool }) => (tool === null ? [] : [tool]));
    assert.deepEqual([...used].sort(), all.sort());
    await client.close();
  });

test("a long answer is cut near 20,000 tokens with a cursor to the rest, whatever was asked for", {
  timeout: 120_000,
}, async () => {
  const { secret } = await instance.assistant();
  const { client, good } = await connect(secret, { pin: "2026-07-28" });
  await good("computer_create", { name: "box" });
  const on = { computer: "box" };
  const long = await good("exec", { ...on, command: "seq 1 100000", max_output_bytes: 1024 * 1024 });
  assert.ok(long.text.length <= limits.replyTextBytes + 4096, String(long.text.length));
  assert.match(long.text, /There is more output: process_output/);
  let text = String(long.data["stdout"]);
  let cursor = long.data["next_cursor"];
  const { id } = long.data["process"] as { readonly id: string };
  for (let more = long.data["more"]; more; ) {
    const part = await good("process_output", { ...on, process: id, cursor, max_bytes: 1024 * 1024 });
    assert.ok(String(part.data["stdout"]).length <= limits.replyTextBytes);
    text += String(part.data["stdout"]);
    ({ next_cursor: cursor, more } = part.data);
  }
  assert.equal(text, `${Array.from({ length: 100_000 }, (_, index) => index + 1).join("\n")}\n`);
  await good("exec", { ...on, command: "cd /work && touch $(seq 1 500)" });
  const list = await good("file_list", { ...on, path: "/work", limit: 1000 });
  assert.equal((list.data["entries"] as unknown[]).length, 200);
  assert.match(list.text, /There are more: file_list with cursor/);
  await client.close();
});

test("a call that outlasts a client's patience answers with a handle, and goes on", {
  timeout: 120_000,
}, async () => {
  const { call, client, good, slow, waitedMs } = await patience;
  assert.ok(waitedMs >= 29_000, `${waitedMs} ms`);
  const { id, state } = slow.data["process"] as { readonly id: string; readonly state: string };
  assert.equal(state, "running");
  await good("exec", { computer: "box", command: "touch /work/go" });
  await good("process_get", { computer: "box", process: id, wait_ms: 20_000 });
  const output = await good("process_output", { computer: "box", process: id });
  assert.equal(output.data["stdout"], "done\n");
  const impatient = await call("exec", { computer: "box", command: "true", wait_ms: 60_000 });
  assert.ok(impatient.isError);
  assert.match(impatient.text, /^invalid_input: /);
  await client.close();
});
