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
