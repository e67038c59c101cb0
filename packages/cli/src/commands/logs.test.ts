import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../main.ts", import.meta.url));

test("a log with nothing in it is told as such, beside the data", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-logs-"));
  context.after(() => rmSync(directory, { recursive: true }));
  let text = "";
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ text, next_cursor: text.length, more: false, truncated_bytes: 0 }));
  }).listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const key = join(directory, "key");
  writeFileSync(key, "hf_key\n", { mode: 0o600 });
  const logs = async (...more: readonly string[]): Promise<readonly string[]> => {
    const place = ["--url", `http://127.0.0.1:${port}`, "--key-file", key];
    const child = spawn(process.execPath, [program, "logs", "box", "web", ...place, ...more], {
      env: { HOME: directory },
    });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].on("data", (chunk: Buffer) => (said[name] += chunk.toString()));
    await once(child, "close");
    return [said.stdout, said.stderr];
  };
  assert.deepEqual(await logs(), ["", "web has said nothing yet.\n"]);
  assert.deepEqual(await logs("--quiet"), ["", ""]);
  text = "hello\n";
  assert.deepEqual(await logs(), ["hello\n", ""]);
});

test("with --owner the owner asks, where no operation's own verb does either, and is signed out at the end", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-logs-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    asked.push(
      `${request.method} ${request.url?.split("?")[0]} ${request.headers.authorization ?? "nobody"}`,
    );
    response.setHeader("content-type", "application/json");
    const isSession = request.url?.startsWith("/v1/session") === true;
    response.end(
      JSON.stringify(
        isSession
          ? { token: "hfs_ada" }
          : { text: "hello\n", next_cursor: 6, more: false, truncated_bytes: 0 },
      ),
    );
  }).listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const words = join(directory, "passphrase");
  writeFileSync(words, "a passphrase of Ada's\n", { mode: 0o600 });
  const passphrase = ["--passphrase-file", words];
  const child = spawn(
    process.execPath,
    [program, "logs", "box", "web", "--url", `http://127.0.0.1:${port}`, "--owner", "ada", ...passphrase],
    { env: { HOME: directory }, stdio: ["ignore", "pipe", "inherit"] },
  );
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await once(child, "close");
  assert.equal(said, "hello\n");
  assert.deepEqual(asked, [
    "POST /v1/sessions nobody",
    "GET /v1/computers/box/services/web/logs Bearer hfs_ada",
    "DELETE /v1/session Bearer hfs_ada",
  ]);
});
