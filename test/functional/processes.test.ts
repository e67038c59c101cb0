import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { pidsOf, run } from "../support/computer.ts";
import { until, untilValue } from "../support/until.ts";
import { useComputer } from "../support/use.ts";

const { assistant, computer } = await useComputer();

const exec = (command: string, fields = {}) => run(assistant, computer, command, fields);

test("`sleep 60` with a 1 s timeout returns in under 2 s, and the next command works", async (context) => {
  const begin = performance.now();
  const { process } = await exec("sleep 60", { timeout_ms: 1000 });
  context.diagnostic(`it returned after ${Math.round(performance.now() - begin)} ms`);
  assert.deepEqual([process.timed_out, process.exit_code], [true, 137]);
  assert.equal((await exec("echo next")).stdout, "next\n");
});

test("a background child that holds stdout does not hang the call; a heredoc does not hang the session", async () => {
  const begin = performance.now();
  const held = await exec("sleep 30 & echo started");
  assert.ok(performance.now() - begin < 25_000);
  assert.deepEqual([held.stdout, held.process.background], ["started\n", true]);
  await assistant.client.processes
    .signal({ computer, process: held.process.id, signal: "KILL" })
    .catch(() => undefined);
  assert.equal((await exec("cat <<'END'\na\n$b\nEND\necho after")).stdout, "a\n$b\nafter\n");
  assert.equal((await exec("cat; echo end")).stdout, "end\n");
});

test("`kill -9 $$` reports the signal, never 0", async () => {
  const { process } = await exec("kill -9 $$");
  assert.deepEqual([process.exit_code, process.exit], [137, { kind: "signaled", signal: 9, name: "KILL" }]);
  assert.equal((await exec("kill -TERM $$")).process.exit_code, 143);
});

test("1 MiB of output, then exit 3: every byte, then the code, 200 times in a row", async () => {
  for (let round = 0; round < 200; round += 1) {
    const { process } = await exec("head -c 1048576 /dev/zero | tr '\\0' y; exit 3", { max_output_bytes: 0 });
    assert.deepEqual([process.exit_code, process.output_bytes, process.dropped_bytes], [3, 1_048_576, 0]);
  }
  const { process } = await exec("head -c 1048576 /dev/urandom | tee /work/random | cat; exit 3", {
    max_output_bytes: 0,
  });
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const event of assistant.client.processes.follow({ computer, process: process.id })) {
    if (event.type !== "output") continue;
    hash.update(event.bytes);
    bytes += event.bytes.length;
  }
  assert.equal(bytes, 1_048_576);
  assert.equal((await exec("sha256sum < /work/random")).stdout.slice(0, 64), hash.digest("hex"));
});

test("no zombies after 500 double forks; none of a killed tree survives", async () => {
  await exec(
    "python3 -c 'import os\nfor i in range(500):\n  p = os.fork()\n  if p == 0:\n    if os.fork() == 0: os._exit(0)\n    os._exit(0)\n  os.waitpid(p, 0)'",
  );
  await until(
    "every orphan is reaped",
    async () => (await exec("ps -eo stat | grep -c '^Z'; true")).stdout === "0\n",
  );
  const tree = await assistant.client.processes.start({
    computer,
    command: "for i in 1 2 3 4; do (setsid sh -c 'sleep 300 & sleep 300' &) ; done; wait; sleep 300",
  });
  await until("the tree stands", async () => Number((await exec("pgrep -c -x sleep; true")).stdout) >= 8);
  await assistant.client.processes.signal({ computer, process: tree.id, signal: "KILL", scope: "tree" });
  await until("none is left", async () => (await exec("pgrep -c -x sleep; true")).stdout === "0\n");
});

test("1 MiB on stdin, a 100 KiB argument with newlines, all bytes on stdout, blank lines, a last line without newline", async () => {
  const input = "0123456789abcde\n".repeat(65_536);
  assert.equal((await exec("wc -c; exit 0", { stdin: input })).stdout, "1048576\n");
  const argument = `a\nb${"x".repeat(100 * 1024)}\n`;
  const echoed = await assistant.client.processes.exec({
    computer,
    argv: ["/bin/sh", "-c", 'printf %s "$1" | sha256sum', "sh", argument],
  });
  assert.equal(echoed.stdout.slice(0, 64), createHash("sha256").update(argument).digest("hex"));
  const all = await assistant.client.processes.exec({
    computer,
    argv: ["python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)))"],
    encoding: "base64",
  });
  assert.deepEqual(
    [...Buffer.from(all.stdout, "base64")],
    Array.from({ length: 256 }, (_, byte) => byte),
  );
  assert.equal((await exec("printf 'a\\n\\n\\nb\\nlast'")).stdout, "a\n\n\nb\nlast");
});

test("a 256 KiB shell line runs", async () => {
  assert.equal((await exec(`x=${"y".repeat(256 * 1024)}; echo \${#x}`)).stdout, `${256 * 1024}\n`);
});

test("multi-byte characters split at chunk edges stay whole, byte by byte and page by page", async () => {
  const { process } = await exec(
    "python3 -c 'import sys, time\nfor b in \"ä€😀\".encode() * 20: sys.stdout.buffer.write(bytes([b])); sys.stdout.flush()'",
    { max_output_bytes: 7 },
  );
  let text = "";
  for (let cursor = 0; ; ) {
    const page = await assistant.client.processes.output({
      computer,
      process: process.id,
      cursor,
      max_bytes: 7,
    });
    text += page.stdout;
    cursor = page.next_cursor;
    if (page.ended && !page.more) break;
  }
  assert.equal(text, "ä€😀".repeat(20));
});

test("random bytes and odd names round-trip; `a%2Fb ü.txt` is one file", async () => {
  const bytes = randomBytes(300_000);
  for (const name of ["book.xlsx", "a%2Fb ü.txt", "-rf", "new\nline", "'quote\"", "…/dots"]) {
    const path = `/work/names/${name}`;
    await assistant.client.files.upload({ computer, path }, bytes);
    const { stream } = await assistant.client.files.download({ computer, path });
    assert.ok(Buffer.from(await new Response(stream).arrayBuffer()).equals(bytes), name);
  }
  const list = await assistant.client.files.list({ computer, path: "/work/names" });
  assert.ok(list.entries.some(({ path }) => path.endsWith("/a%2Fb ü.txt")));
});

test("of two followers one stalls: the other gets everything", async () => {
  const { id } = await assistant.client.processes.start({
    computer,
    command: "head -c 20000000 /dev/zero | tr '\\0' z",
  });
  const stalled = assistant.client.processes.follow({ computer, process: id })[Symbol.asyncIterator]();
  await stalled.next();
  let bytes = 0;
  for await (const event of assistant.client.processes.follow({ computer, process: id })) {
    if (event.type === "output") bytes += event.bytes.length;
    if (event.type === "dropped") bytes += event.bytes;
  }
  assert.equal(bytes, 20_000_000);
  await stalled.return?.();
});

test("a client that gives up leaves a process that is listed, metered and can be killed", async () => {
  const abort = new AbortController();
  const call = assistant.once.processes
    .exec({ computer, command: "exec sleep 321" }, { signal: abort.signal })
    .catch(() => undefined);
  const found = await untilValue("it is listed", async () => {
    const { processes } = await assistant.client.processes.list({ computer, state: "running" });
    return processes.find(({ command }) => command.includes("321"));
  });
  abort.abort();
  await call;
  const { state } = await assistant.client.processes.get({ computer, process: found.id });
  assert.ok(state === "running" || state === "starting", state);
  assert.ok((await assistant.client.computers.usage({ computer })).processes > 1);
  await assistant.client.processes.signal({ computer, process: found.id, signal: "KILL" });
  assert.equal(
    (await assistant.client.processes.get({ computer, process: found.id, wait_ms: 5000 })).exit_code,
    137,
  );
});

test("a terminal: resize, a UTF-8 locale, detach and reattach with history", async () => {
  const { id } = await assistant.client.processes.start({
    computer,
    command: "exec bash -i",
    terminal: { columns: 80, rows: 24 },
  });
  const first = await assistant.client.processes.attach({ computer, process: id });
  const seen = async (attachment: typeof first, wanted: string): Promise<string> => {
    let text = "";
    for await (const chunk of attachment.output) {
      text += Buffer.from(chunk).toString();
      if (text.includes(wanted)) return text;
    }
    throw new Error(`the terminal ended without ${wanted}: ${text}`);
  };
  first.write("stty size; locale charmap; echo ü-$((6*7))\n");
  const text = await seen(first, "ü-42");
  assert.match(text, /24 80/);
  assert.match(text, /UTF-8/);
  first.resize(100, 40);
  first.write("stty size; echo re-$((1+1))\n");
  assert.match(await seen(first, "re-2"), /40 100/);
  first.close();
  await first.ended;
  const second = await assistant.client.processes.attach({ computer, process: id });
  await seen(second, "re-2");
  second.write("exit 4\n");
  const ended = await second.ended;
  assert.equal(ended?.exit_code, 4);
});

test("what has ended is gone: the computer is back to its agent alone", async () => {
  // The agent keeps a child ready for the next command.
  await until("only the agent runs", async () => (await pidsOf(computer)).length <= 2, { withinMs: 15_000 });
});
