import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { useRest } from "../../support/rest.ts";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "../../support/until.ts";

describe("processes", () => {
  const rest = useRest();
  const { ask } = rest;
  before(async () => {
    const created = await ask("POST", "/v1/computers", { name: "box" });
    assert.equal(created.status, 201, JSON.stringify(created.body));
  });

  const run = async (body: Readonly<Record<string, unknown>>, headers?: Readonly<Record<string, string>>) => {
    const reply = await ask("POST", "/v1/computers/box/exec", { cwd: "/tmp", ...body }, headers);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body as unknown as Executed;
  };
  const processes = (path: string, method = "GET", body?: unknown) =>
    ask(method, `/v1/computers/box/processes${path}`, body);

  test("text keeps multi-byte characters whole at every page edge, base64 keeps every byte", async () => {
    const text = "añ日本𝄞z".repeat(6);
    const { process } = await run({ argv: ["printf", "%s", text], max_output_bytes: 0 });
    for (const size of [1, 2, 3, 5, 7, 64]) {
      let shown = "";
      for (let cursor = 0, more = true; more; ) {
        const { body } = await processes(`/${process.id}/output?cursor=${cursor}&max_bytes=${size}`);
        shown += String(body["stdout"]);
        more = body["more"] === true || body["ended"] !== true;
        cursor = Number(body["next_cursor"]);
        if (size < 4) assert.ok(cursor > 0);
      }
      if (size >= 4) assert.equal(shown, text, `pages of ${size}`);
    }
    const bytes = await run({
      command: `for i in $(seq 0 255); do printf "\\\\$(printf %03o $i)"; done`,
      encoding: "base64",
    });
    const expected = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    assert.deepEqual(Buffer.from(bytes.stdout, "base64"), expected);
  });

  test("a character written in two halves is shown whole, when both are there", async () => {
    const started = await processes("", "POST", {
      command: "printf '\\xe6\\x97'; sleep 0.5; printf '\\xa5'; sleep 0.2",
      cwd: "/tmp",
    });
    const id = String(started.body["id"]);
    let text = "";
    for (let cursor = 0, ended = false; !ended; ) {
      const { body } = await processes(`/${id}/output?cursor=${cursor}&wait_ms=2000`);
      text += String(body["stdout"]);
      cursor = Number(body["next_cursor"]);
      ended = body["ended"] === true && body["more"] !== true;
    }
    assert.equal(text, "日");
  });

  test("reports signals, time-outs and refusals as what they are", async () => {
    assert.equal((await run({ command: "kill -9 $$" })).process.exit_code, 137);
    const late = await run({ command: "sleep 60", timeout_ms: 300 });
    assert.equal(late.process.timed_out, true);
    assert.equal(late.process.exit_code, 137);
    const missing = await ask("POST", "/v1/computers/box/exec", { argv: ["/no/such/program"], cwd: "/tmp" });
    assert.equal(missing.status, 422, JSON.stringify(missing.body));
    assert.equal((missing.body["details"] as Record<string, unknown>)["reason"], "command_not_found");
    const nowhere = await ask("POST", "/v1/computers/box/exec", { argv: ["true"], cwd: "/no/such/place" });
    assert.equal(nowhere.status, 422, JSON.stringify(nowhere.body));
    const listed = await processes("?limit=200");
    assert.ok(!JSON.stringify(listed.body).includes("/no/such/program"), "what never ran is not listed");
    const both = await ask("POST", "/v1/computers/box/exec", {
      argv: ["true"],
      command: "true",
      cwd: "/tmp",
    });
    assert.equal(both.status, 400);
  });

  test("1 MiB on standard input, a 100 KiB argument, newlines and blank lines come through", async () => {
    const input = "0123456789abcde\n".repeat(65_536);
    assert.equal((await run({ command: "wc -c", stdin: input })).stdout.trim(), String(input.length));
    const digest = await run({
      command: "md5sum",
      stdin_base64: Buffer.alloc(700_000, 7).toString("base64"),
    });
    assert.match(digest.stdout, /^[0-9a-f]{32}/);
    const long = "x".repeat(100 * 1024);
    assert.equal(
      (await run({ argv: ["sh", "-c", 'printf %s "$1" | wc -c', "sh", long] })).stdout.trim(),
      "102400",
    );
    assert.equal((await run({ argv: ["printf", "%s", "a\nb\n\n"] })).stdout, "a\nb\n\n");
    const shell = await run({ command: `cat <<'END' | wc -c\n${"y".repeat(256 * 1024)}\nEND\n` });
    assert.equal(shell.stdout.trim(), String(256 * 1024 + 1));
  });

  test("hands over what is still running, with its output so far, and every byte after it", async () => {
    const handed = await run({
      command: "head -c 1048576 /dev/zero | tr '\\0' x; sleep 3; exit 3",
      wait_ms: 1500,
      max_output_bytes: 1000,
    });
    assert.equal(handed.process.state, "running");
    assert.equal(handed.stdout.length, 1000);
    assert.equal(handed.more, true);
    const ended = await processes(`/${handed.process.id}?wait_ms=5000`);
    assert.equal(ended.body["exit_code"], 3);
    let total = handed.stdout.length;
    for (let cursor = handed.next_cursor, more = true; more; ) {
      const { body } = await processes(`/${handed.process.id}/output?cursor=${cursor}&max_bytes=200000`);
      total += String(body["stdout"]).length;
      cursor = Number(body["next_cursor"]);
      more = body["more"] === true;
    }
    assert.equal(total, 1_048_576);
    const noisy = await run({
      command: "head -c 300000 /dev/zero | tr '\\0' y; exit 4",
      max_output_bytes: 10,
    });
    assert.equal(noisy.process.exit_code, 4, "the exit is waited for though the output is more than fits");
  });

  test("the same idempotency key replays the process, another body is refused", async () => {
    const headers = { "idempotency-key": '"exec-1"' };
    const body = { command: "date +%N; echo once >> /tmp/holdfast-once.$$; exit 5" };
    const first = await run(body, headers);
    const again = await run(body, headers);
    assert.equal(again.process.id, first.process.id);
    assert.equal(again.stdout, first.stdout);
    assert.equal(again.process.exit_code, 5);
    const other = await ask(
      "POST",
      "/v1/computers/box/exec",
      { command: "echo other", cwd: "/tmp" },
      headers,
    );
    assert.equal(other.status, 422);
  });

  test("a background child that holds stdout does not hang the call", async () => {
    const begun = performance.now();
    const result = await run({ command: "sleep 30 & echo done" });
    assert.equal(result.stdout, "done\n");
    assert.ok(performance.now() - begun < 25_000);
    await processes(`/${result.process.id}/signal`, "POST", { signal: "KILL" });
  });

  test("input, signals, list and follow", async () => {
    const started = await processes("", "POST", { command: "cat; echo end", cwd: "/tmp", stdin_open: true });
    assert.equal(started.status, 200, JSON.stringify(started.body));
    const id = String(started.body["id"]);
    assert.equal((await processes(`/${id}/input`, "POST", { text: "héllo\n" })).body["accepted_bytes"], 7);
    const running = await processes("?state=running");
    assert.ok((running.body["processes"] as { id: string }[]).some((process) => process.id === id));
    const events = follow(`/v1/computers/box/processes/${id}/follow`);
    await processes(`/${id}/input`, "POST", { text: "more\n", close: true });
    const seen = await events;
    assert.equal(seen.text, "héllo\nmore\nend\n");
    assert.equal(seen.end["exit_code"], 0);
    assert.equal((await processes(`/${id}/input`, "POST", { text: "x" })).status, 409);
    const sleeper = String((await processes("", "POST", { command: "sleep 50", cwd: "/tmp" })).body["id"]);
    const signaled = await processes(`/${sleeper}/signal`, "POST", { signal: "TERM" });
    assert.equal(signaled.status, 200, JSON.stringify(signaled.body));
    const ended = await processes(`/${sleeper}?wait_ms=3000`);
    assert.deepEqual(ended.body["exit"], { kind: "signaled", signal: 15, name: "TERM" });
  });

  test("a caller that gives up leaves a process that is listed and can be ended", async () => {
    const abort = new AbortController();
    const gone = fetch(`${rest.url}/v1/computers/box/exec`, {
      method: "POST",
      headers: { authorization: `Bearer ${rest.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ argv: ["sleep", "41"], cwd: "/tmp" }),
      signal: abort.signal,
    }).catch(() => {});
    let id: string | undefined;
    for (let tries = 0; id === undefined && tries < 100; tries += 1) {
      const { body } = await processes("?state=running");
      id = (body["processes"] as { id: string; command: string }[]).find(
        (one) => one.command === "sleep 41",
      )?.id;
      await pause(20);
    }
    assert.ok(id);
    abort.abort();
    await gone;
    const killed = await processes(`/${id}/signal`, "POST", { signal: "KILL" });
    assert.equal(killed.status, 200, JSON.stringify(killed.body));
    assert.equal((await processes(`/${id}?wait_ms=2000`)).body["exit_code"], 137);
  });

  test("nothing is lost when control restarts while a process runs", async () => {
    const started = await processes("", "POST", {
      command: "echo before; sleep 1; echo after; exit 6",
      cwd: "/tmp",
    });
    const id = String(started.body["id"]);
    const instance = await rest.instance;
    const control = (await instance.programs())["control"];
    assert.ok(control?.pid);
    process.kill(control.pid, "SIGKILL");
    await until("control is back", async () => {
      const now = (await instance.programs())["control"];
      return now?.ready === true && now.pid !== control.pid;
    });
    const ended = await processes(`/${id}?wait_ms=5000`);
    assert.equal(ended.body["exit_code"], 6, JSON.stringify(ended.body));
    assert.equal((await processes(`/${id}/output`)).body["stdout"], "before\nafter\n");
  });

  const follow = async (path: string) => {
    const response = await fetch(`${rest.url}${path}`, {
      headers: { authorization: `Bearer ${rest.secret}`, accept: "text/event-stream" },
    });
    assert.equal(response.status, 200);
    const blocks = (await response.text()).split("\n\n");
    const parts: Buffer[] = [];
    let end: Record<string, unknown> = {};
    for (const block of blocks) {
      const kind = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data === undefined) continue;
      const value = JSON.parse(data) as { base64?: string; process?: Record<string, unknown> };
      if (kind === "output") parts.push(Buffer.from(value.base64 ?? "", "base64"));
      if (kind === "end") end = value.process ?? {};
    }
    return { text: Buffer.concat(parts).toString(), end };
  };
});

interface Executed {
  readonly process: {
    readonly id: string;
    readonly state: string;
    readonly exit_code: number | null;
    readonly timed_out: boolean;
  };
  readonly stdout: string;
  readonly stderr: string;
  readonly next_cursor: number;
  readonly more: boolean;
}
