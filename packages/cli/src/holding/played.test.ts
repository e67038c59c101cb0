import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../main.ts", import.meta.url));
const at = "2026-01-01T00:00:00Z";

interface Asked {
  readonly line: string;
  readonly body: string;
  readonly authorization: string | undefined;
}

/** The command against a server that answers what `answer` says of `GET /v1/…`; `undefined` is a 404. */
const against = async (context: TestContext, answer: (line: string) => unknown) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-holding-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const asked: Asked[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const line = `${request.method} ${request.url}`;
    asked.push({ line, body: await textOf(request), authorization: request.headers.authorization });
    const found = answer(line);
    if (found instanceof Uint8Array) return void response.end(found);
    response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(found ?? { code: "not_found", status: 404, detail: line }));
  };
  const server = createServer((request, response) => void serve(request, response)).listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(directory, "key"), "hf_key\n", { mode: 0o600 });
  const cli = async (words: readonly string[], input = "") => {
    const place = ["--url", url, "--key-file", join(directory, "key")];
    const child = spawn(process.execPath, [program, ...place, ...words], {
      env: { HOME: directory },
      cwd: directory,
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].on("data", (chunk: Buffer) => (said[name] += chunk.toString()));
    const [code] = (await once(child, "close")) as [number];
    return { ...said, code };
  };
  return { cli, asked, directory };
};

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

const run = (fields: Readonly<Record<string, unknown>>) => ({
  id: "run_00000000000000000001",
  schedule: "sch_00000000000000000001",
  computer: "cmp_00000000000000000001",
  cause: "slot",
  slot: at,
  state: "running",
  reason: null,
  attempt: 1,
  process: "prc_1",
  exit: null,
  timed_out: false,
  woke: null,
  fork: null,
  output_bytes: 0,
  created_at: at,
  started_at: at,
  ended_at: null,
  duration_ms: null,
  ...fields,
});

const schedule = {
  id: "sch_00000000000000000001",
  computer: "cmp_00000000000000000001",
  project: null,
  name: "nightly",
  state: "active",
  cron: "0 3 * * *",
  every_ms: null,
  at: null,
  event: false,
  time_zone: "Europe/Berlin",
  command: null,
  argv: ["./backup.sh", "--all"],
  cwd: "/work",
  environment: {},
  user: { uid: 0, gid: 0 },
  timeout_ms: 3_600_000,
  missed: "run_each",
  missed_most: 3,
  overlap: "skip",
  retries: 2,
  retry_backoff_ms: 90_000,
  retries_per_day: 24,
  place: "computer",
  next_slot: "2126-01-01T03:00:00Z",
  last_run: run({ state: "failed", exit: { kind: "exited", code: 7 }, ended_at: at }),
  run_address: null,
  owner: "prn_1",
  created_at: at,
  updated_at: at,
  version: "1",
};

test("runs follow shows each attempt as it comes, and ends as the run did", async (context) => {
  const states = [
    run({ state: "queued", process: null }),
    run({}),
    run({ state: "waiting_to_retry", attempt: 1 }),
    run({
      attempt: 2,
      state: "failed",
      reason: "exit code 7",
      exit: { kind: "exited", code: 7 },
      ended_at: at,
    }),
  ];
  let looked = 0;
  const { cli, asked } = await against(context, (line) => {
    if (!line.includes("/output")) return states[looked++];
    const cursor = Number(/cursor=(\d+)/.exec(line)?.[1]);
    const text = looked > 2 ? "second\n" : "first\n";
    return { text: text.slice(cursor), next_cursor: text.length, more: false, truncated_bytes: 0 };
  });
  const { stdout, stderr, code } = await cli(["runs", "follow", "run_00000000000000000001"]);
  assert.equal(stdout, "first\nsecond\n");
  assert.equal(
    stderr,
    "It waits for its turn.\nIt failed and will be tried again.\nAttempt 2:\nThe run failed: exit code 7\n",
  );
  assert.equal(code, 7);
  assert.equal(asked.filter(({ line }) => line.includes("/output")).length, 2);
});

test("a run that did not succeed is no success, whatever its process said", async (context) => {
  const { cli } = await against(context, (line) =>
    line.includes("/output")
      ? { text: "", next_cursor: 0, more: false, truncated_bytes: 0 }
      : run({ state: "failed", timed_out: true, exit: { kind: "exited", code: 0 }, ended_at: at }),
  );
  assert.equal((await cli(["runs", "follow", "run_00000000000000000001"])).code, 1);
  const { stdout, code } = await cli(["schedules", "run", "nightly", "--computer", "box"]);
  assert.match(stdout, /^exit: +timed out$/m);
  assert.equal(code, 1);
});

test("a schedule is made with one timing and a place, which is said before anything is sent", async (context) => {
  const { cli, asked } = await against(context, () => ({ ...schedule, event_key: null }));
  const make = (...more: readonly string[]) => cli(["schedules", "create", "nightly", ...more]);
  assert.match((await make("--cron", "0 3 * * *", "--", "true")).stderr, /There is no place to run/);
  assert.match((await make("--computer", "box", "--", "true")).stderr, /There is no time to run at/);
  assert.match(
    (await make("--computer", "box", "--every", "15m", "--event", "--", "true")).stderr,
    /more than one time/,
  );
  assert.match(
    (await make("--computer", "box", "--every", "15", "--", "true")).stderr,
    /a time with its unit/,
  );
  assert.equal(asked.length, 0);
  const made = await cli([
    "schedules",
    "create",
    "nightly",
    "--computer",
    "box",
    "--every",
    "15m",
    "--",
    "./a",
    "b",
  ]);
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(JSON.parse(asked[0]?.body ?? ""), {
    name: "nightly",
    computer: "box",
    every_ms: 900_000,
    argv: ["./a", "b"],
  });
  assert.match(made.stdout, /^when: +0 3 \* \* \* \(Europe\/Berlin\)$/m);
  assert.match(made.stdout, /^missed slots: +run each, the latest 3$/m);
  assert.match(made.stdout, /^retries: +2, the first after 1m30s; at most 24 a day$/m);
});

test("the key of an event schedule goes into a private file, and from there to its run address instead of one's own", async (context) => {
  const { cli, asked, directory } = await against(context, (line) =>
    line.includes("/fire")
      ? { run: "run_1", state: "queued" }
      : { ...schedule, event: true, event_key: "hfe_secret" },
  );
  const made = await cli([
    "schedules",
    "create",
    "hook",
    "--computer",
    "box",
    "--event",
    "--save",
    "k",
    "--",
    "true",
  ]);
  assert.doesNotMatch(made.stdout + made.stderr, /hfe_secret/);
  assert.equal(readFileSync(join(directory, "k"), "utf8"), "hfe_secret\n");
  assert.equal(statSync(join(directory, "k")).mode & 0o777, 0o600);
  const fired = await cli(["schedules", "fire", schedule.id, "--event-key", "k", "--payload", '{"a":1}']);
  assert.equal(fired.code, 0, fired.stderr);
  const { body, authorization } = asked.at(-1) ?? { body: "", authorization: "" };
  assert.deepEqual(JSON.parse(body), { key: "hfe_secret", payload: { a: 1 } });
  assert.equal(authorization, undefined, "nobody's key is sent where none is needed");
});

test("computers and schedules are named as people do, in lists and alone, and by their ids for programs", async (context) => {
  const { cli } = await against(context, (line) => {
    if (line.startsWith("GET /v1/computers")) return { computers: [{ id: schedule.computer, name: "box" }] };
    if (line.startsWith(`GET /v1/schedules/${schedule.id}`)) return schedule;
    if (line.startsWith("GET /v1/schedules")) return { schedules: [schedule], next_cursor: null };
    if (line.startsWith("GET /v1/runs/run_")) return run({});
    return {
      runs: [run({ state: "succeeded", exit: { kind: "exited", code: 0 }, ended_at: at, duration_ms: 1500 })],
      next_cursor: null,
    };
  });
  const { stdout } = await cli(["schedules", "list"]);
  assert.match(
    stdout,
    /^nightly {2}box .* 0 3 \* \* \* \(Europe\/Berlin\) {2}in \d+ days {2}failed \(7\) \d+ /m,
  );
  assert.match(
    (await cli(["runs", "list"])).stdout,
    /^run_0+1 {2}nightly {3}slot {3}succeeded {2}0 .* 1\.5s /m,
  );
  assert.match((await cli(["schedules", "show", schedule.id])).stdout, /^computer: +box$/m);
  assert.match(
    (await cli(["runs", "show", run({}).id])).stdout,
    /^schedule: +nightly$[\s\S]*^computer: +box$/m,
  );
  const { computer } = JSON.parse((await cli(["schedules", "show", schedule.id, "--json"])).stdout) as Record<
    string,
    unknown
  >;
  assert.equal(computer, schedule.computer);
});

test("a snapshot becomes a file and a file a computer, whole or not at all", async (context) => {
  const data = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]);
  const { cli, asked, directory } = await against(context, (line) =>
    line.includes("/export") ? (line.includes("/gone/") ? undefined : data) : { id: "cmp_1", name: "copy" },
  );
  const kept = await cli(["snapshots", "export", "box", "before"]);
  assert.equal(kept.code, 0, kept.stderr);
  assert.deepEqual(readFileSync(join(directory, "box-before.tar.zst")), data);
  const missing = await cli(["snapshots", "export", "box", "gone", "gone.zst"]);
  assert.notEqual(missing.code, 0);
  assert.equal(existsSync(join(directory, "gone.zst")), false);
  const piped = await cli(["snapshots", "export", "box", "before", "-"]);
  assert.equal(piped.stdout, data.toString());
  const made = await cli(["snapshots", "import", "copy", "box-before.tar.zst", "--size", "medium"]);
  assert.equal(made.code, 0, made.stderr);
  assert.equal(asked.at(-1)?.line, "POST /v1/computers/import?name=copy&size=medium");
  assert.equal(asked.at(-1)?.body, data.toString());
  await cli(["snapshots", "import", "copy"], "piped in");
  assert.equal(asked.at(-1)?.body, "piped in");
});

test("what is gone afterwards is asked for by its name, and not done where nobody is", async (context) => {
  const { cli, asked } = await against(context, () => ({}));
  for (const words of [
    ["schedules", "delete", "nightly"],
    ["snapshots", "delete", "box", "before"],
    ["snapshots", "restore", "box", "before"],
  ]) {
    const { code, stderr } = await cli([...words, "--no-input"]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /--force/);
  }
  assert.equal(asked.length, 0);
});
