import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { until } from "../support/until.ts";
import { useComputer } from "../support/use.ts";

const { instance, assistant, computer } = await useComputer();
const client = new Client({ name: "test", version: "0" }, { versionNegotiation: { mode: "auto" } });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${instance.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${assistant.secret}` } },
  }),
);
after(() => client.close());

const tool = (name: string, input: Readonly<Record<string, unknown>>): Promise<CallToolResult> =>
  client.callTool({ name, arguments: { computer, ...input } });
const answer = async <T>(name: string, input: Readonly<Record<string, unknown>>): Promise<T> => {
  const result = await tool(name, input);
  assert.ok(!result.isError, textOf(result));
  return result.structuredContent as T;
};
const textOf = (result: CallToolResult): string =>
  result.content.map((part) => (part.type === "text" ? part.text : "")).join("");

interface Exec {
  readonly process: { readonly id: string; readonly state: string; readonly exit_code: number | null };
  readonly stdout: string;
  readonly next_cursor: number;
  readonly more: boolean;
}

test("a call that outlasts its wait returns a handle at once, goes on and finishes", async () => {
  const command = "until [ -e /work/go ]; do sleep 0.1; done; echo finished; exit 6";
  const { process } = await answer<Exec>("exec", { command, wait_ms: 200 });
  assert.equal(process.state, "running");
  await answer<Exec>("exec", { command: "touch /work/go" });
  const ended = await answer<Exec["process"]>("process_get", { process: process.id, wait_ms: 20_000 });
  assert.deepEqual([ended.state, ended.exit_code], ["ended", 6]);
  assert.equal((await answer<Exec>("process_output", { process: process.id })).stdout, "finished\n");
});

test("nothing can be asked to wait longer than a client's patience", async () => {
  const result = await tool("exec", { command: "sleep 90", wait_ms: 60_000 });
  assert.equal(result.isError, true);
  assert.match(textOf(result), /wait_ms/);
});

test("long output is cut with a cursor to the rest, and all of it can be read", async () => {
  const first = await answer<Exec>("exec", { command: "seq 1 60000" });
  assert.ok(first.more && first.stdout.length <= 64 * 1024);
  let text = first.stdout;
  for (let cursor = first.next_cursor, more: boolean = first.more; more; ) {
    const page = await answer<Exec>("process_output", { process: first.process.id, cursor });
    text += page.stdout;
    cursor = page.next_cursor;
    more = page.more;
  }
  assert.equal(text, Array.from({ length: 60_000 }, (_, index) => `${index + 1}\n`).join(""));
});

test("an error says what to do next, and a failing command is no error of the tool", async () => {
  const missing = await tool("file_read", { path: "/work/none" });
  assert.equal(missing.isError, true);
  assert.match(textOf(missing), /List the parent directory/);
  assert.equal((await answer<Exec>("exec", { command: "exit 9" })).process.exit_code, 9);
});

test("the main job: write, run, serve, stop, wake, and find all of it again", async () => {
  await answer("file_write", {
    path: "/work/app.py",
    content:
      "import http.server as h\nh.HTTPServer(('127.0.0.1', 8000), h.SimpleHTTPRequestHandler).serve_forever()\n",
  });
  const service = await answer<{ readonly state: string }>("service_create", {
    name: "web",
    argv: ["python3", "app.py"],
    port: 8000,
  });
  assert.equal(service.state, "ready");
  await answer("file_edit", { path: "/work/app.py", edits: [{ old: "8000", new: "8001" }] });
  await answer("computer_stop", {});
  await answer("computer_wake", {});
  assert.match(
    (await answer<{ readonly content: string }>("file_read", { path: "/work/app.py" })).content,
    /8001/,
  );
  await until("the service runs what is there now", async () => {
    const { ports } = await answer<{ readonly ports: readonly { readonly port: number }[] }>("port_list", {});
    return ports.some(({ port }) => port === 8001);
  });
});
