import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { createKey, enrolOwner, startControl, type TestControl } from "../support/control.ts";
import { createCliUser, type CliUser } from "../support/cli.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { peer } from "./peers.ts";

const closing: (() => Promise<void>)[] = [];
const cleanUp = { after: (work: unknown) => void closing.unshift(work as () => Promise<void>) };
let postgres: TestPostgres;
let control: TestControl;
let user: CliUser;
let key: string;

before(async () => {
  postgres = await startPostgres();
  control = await startControl(cleanUp, postgres);
  key = (await createKey(control, await enrolOwner(control), "helper")).secret;
  user = await createCliUser(cleanUp, control.url, key);
});

after(async () => {
  for (const close of closing) await close();
  await postgres.stop();
});

interface Inspected {
  readonly code: number | null;
  readonly output: { readonly result?: Readonly<Record<string, unknown>> };
  readonly errors: string;
}

const inspect = (target: readonly string[], method: readonly string[]): Promise<Inspected> =>
  new Promise((resolve) => {
    const program = peer("@modelcontextprotocol/inspector", "clients/launcher/build/index.js");
    const argv = [program, "--cli", ...target, ...method, "--format", "json", "--stored-auth-only"];
    const child = spawn(process.execPath, argv, { env: user.environment, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    child.once("close", (code) =>
      resolve({
        code,
        errors,
        output: (output.trim() === "" ? {} : JSON.parse(output)) as Inspected["output"],
      }),
    );
  });

const http = (): string[] => [
  `${control.url}/mcp`,
  "--transport",
  "http",
  "--header",
  `Authorization: Bearer ${key}`,
];
const stdio = (): string[] => [process.execPath, user.program, "mcp"];

for (const [name, target] of [
  ["over HTTP", http],
  ["through the stdio bridge", stdio],
] as const) {
  test(`the Inspector lists and calls tools ${name}`, { timeout: 120_000 }, async () => {
    const listed = await inspect(target(), ["--method", "tools/list"]);
    assert.equal(listed.code, 0, listed.errors);
    const tools = listed.output.result?.["tools"] as { name: string }[];
    assert.ok(tools.some((tool) => tool.name === "whoami"));
    const called = await inspect(target(), [
      "--method",
      "tools/call",
      "--tool-name",
      "whoami",
      "--tool-args-json",
      "{}",
    ]);
    assert.equal(called.code, 0, called.errors);
    assert.equal(
      (called.output.result?.["structuredContent"] as { name: string } | undefined)?.name,
      "helper",
    );
  });

  test(`the Inspector reports a refused call as a tool's error ${name}`, { timeout: 120_000 }, async () => {
    const call = ["--method", "tools/call", "--tool-name", "record_list", "--tool-args-json", '{"limit":0}'];
    const called = await inspect(target(), call);
    assert.equal(called.code, 5, called.errors);
  });
}

test("the Inspector is told that a key is missing", { timeout: 120_000 }, async () => {
  const listed = await inspect([`${control.url}/mcp`, "--transport", "http"], ["--method", "tools/list"]);
  assert.equal(listed.code, 3, listed.errors);
});
