import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { createCliUser } from "../support/cli.ts";
import { createComputer } from "../support/computer.ts";
import { useInstance } from "../support/instance.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const instance = await useInstance();
const scratch = temporaryDirectory("cli-holding");
after(() => scratch.remove());

/** Somebody at a command line with a computer; `done` runs a verb that succeeds and answers what it printed. */
const start = async (context: TestContext) => {
  const assistant = await instance.assistant();
  const computer = await createComputer(assistant);
  const cli = await createCliUser(context, instance.url, assistant.secret);
  const done = async (words: readonly string[], input?: Buffer): Promise<string> => {
    const { code, stdout, stderr } = await cli.run(words, input);
    assert.equal(code, 0, `${words.join(" ")}\n${stdout}\n${stderr}`);
    return stdout;
  };
  const asJson = async (...words: readonly string[]): Promise<Record<string, unknown>> =>
    JSON.parse(await done([...words, "--json"])) as Record<string, unknown>;
  return { assistant, cli, computer, done, asJson };
};

test("a schedule is made, run, followed to its exit code, paused and deleted", async (context) => {
  const { cli, computer, done, asJson } = await start(context);
  const at = ["--computer", computer];
  await done([
    "schedules",
    "create",
    "count",
    ...at,
    "--every",
    "24h",
    "--",
    "sh",
    "-c",
    "echo one; echo two",
  ]);
  await done(["computers", "sleep", computer]);
  assert.equal(await done(["schedules", "run", "count", ...at, "--follow"]), "one\ntwo\n");
  await done([
    "schedules",
    "create",
    "bad",
    ...at,
    "--cron",
    "0 3 * * *",
    "--time-zone",
    "Europe/Berlin",
    "--command",
    "echo no >&2; exit 7",
  ]);
  const failed = await cli.run(["schedules", "run", "bad", ...at, "--follow"]);
  assert.deepEqual([failed.code, failed.stdout], [7, "no\n"]);
  const waited = await cli.run(["schedules", "run", "bad", ...at]);
  assert.equal(waited.code, 1);
  assert.match(waited.stdout, /^exit: +7$/m);
  const list = await done(["schedules", "list", ...at]);
  assert.match(list, /^bad .* 0 3 \* \* \* \(Europe\/Berlin\) +in \d+ .* failed \(7\) /m);
  assert.match(list, /^count .* every 24h +in 24 h .* succeeded .* sh -c 'echo one; echo two'$/m);
  const runs = await done(["runs", "list", ...at]);
  assert.match(runs, /^run_\w+ {2}count .*manual .*succeeded .* asleep /m);
  assert.equal((await done(["runs", "list", ...at, "--failed"])).trim().split("\n").length, 3);
  await done(["schedules", "pause", "count", ...at]);
  assert.equal((await asJson("schedules", "show", "count", ...at))["state"], "paused");
  await done(["schedules", "update", "count", ...at, "--every", "15m", "--timeout", "90s"]);
  assert.match(
    await done(["schedules", "show", "count", ...at]),
    /^when: +every 15m$[\s\S]*^timeout: +1m30s$/m,
  );
  await done(["schedules", "delete", "count", ...at, "--force"]);
  assert.match(await done(["top", "--once"]), /^ {2}bad +active .* next in \d+ .*, failed \(7\) /m);
});

test("a long run is shown as it goes, and cancelled from elsewhere", async (context) => {
  const { cli, computer, done, asJson } = await start(context);
  const at = ["--computer", computer];
  await done(["schedules", "create", "long", ...at, "--every", "24h", "--command", "echo begun; sleep 4242"]);
  const run = await asJson("schedules", "run", "long", ...at, "--wait", "0");
  const followed = cli.run(["runs", "follow", String(run["id"])]);
  // Sent once it runs; the follower then has the output and the end.
  while ((await asJson("runs", "show", String(run["id"])))["state"] !== "running");
  while ((await asJson("runs", "output", String(run["id"])))["text"] !== "begun\n");
  await done(["runs", "cancel", String(run["id"])]);
  const { code, stdout, stderr } = await followed;
  assert.equal(stdout, "begun\n");
  assert.match(stderr, /The run was cancelled/);
  assert.notEqual(code, 0);
});

test("the key of an event schedule starts its runs, and nothing else does", async (context) => {
  const { cli, computer, done, asJson } = await start(context);
  const file = join(scratch.path, "event.key");
  const words = [
    "schedules",
    "create",
    "hook",
    "--computer",
    computer,
    "--event",
    "--save",
    file,
    "--command",
    "cat",
  ];
  assert.doesNotMatch(await done(words), /hfe_/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const key = await readFile(file);
  assert.match(key.toString(), /^hfe_\S+\n$/);
  const { id } = await asJson("schedules", "show", "hook", "--computer", computer);
  const fire = ["schedules", "fire", String(id), "--payload", '{"order":7}'];
  const fired = JSON.parse(await done([...fire, "--event-key", "-", "--json"], key)) as { run: string };
  assert.equal(await done(["runs", "follow", fired.run]), '{"order":7}');
  const wrong = await cli.run([...fire, "--event-key", "-"], Buffer.from("hfe_wrong\n"));
  assert.notEqual(wrong.code, 0);
});

test("a snapshot is compared, forked, exported, imported and restored", async (context) => {
  const { computer, done, asJson } = await start(context);
  const suffix = computer.slice(-6).replace(/^-/, "");
  const [copy, trial] = [`copy-${suffix}`, `trial-${suffix}`];
  await done(["exec", computer, "--", "sh", "-c", "echo good > /work/file"]);
  await done(["snapshots", "create", computer, "--name", "before"]);
  await done(["exec", computer, "--", "sh", "-c", "echo worse > /work/file; echo new > /work/more"]);
  const diff = await done(["snapshots", "diff", computer, "before", "--path", "/work"]);
  assert.match(diff, /^changed +5 B -> 6 B .*\/work\/file$/m);
  assert.match(diff, /^added .*\/work\/more$/m);

  await done(["computers", "fork", computer, trial, "--snapshot", "before", "--lifetime", "1h"]);
  assert.equal(await done(["exec", trial, "--", "cat", "/work/file"]), "good\n");
  assert.match(await done(["computers", "list"]), new RegExp(`^${trial} .* in (60 min|1 h) `, "m"));
  await done(["computers", "promote", trial]);
  assert.equal((await asJson("computers", "show", trial))["expires_at"], null);

  const file = join(scratch.path, "computer.tar.zst");
  await done(["snapshots", "export", computer, "before", file]);
  await done(["snapshots", "import", copy], await readFile(file));
  assert.equal(await done(["exec", copy, "--", "cat", "/work/file"]), "good\n");
  await done(["computers", "archive", copy, "--wait", "50s"]);
  assert.match(await done(["top", "--once"]), new RegExp(`^${copy} +archived `, "m"));
  assert.equal(await done(["exec", copy, "--", "cat", "/work/file"]), "good\n", "used, it is unpacked");

  await done(["snapshots", "restore", computer, "before", "--force", "--wait", "50s"]);
  assert.equal(await done(["exec", computer, "--", "sh", "-c", "cat /work/file; ls /work"]), "good\nfile\n");
  assert.match(await done(["snapshots", "list", computer]), /before restore/);
  for (const name of [copy, trial]) await done(["computers", "destroy", name, "--force"]);
});

test("a helper's offer is seen as a diff and accepted as it was seen", async (context) => {
  const { cli, computer, done, asJson } = await start(context);
  const file = join(scratch.path, "helper.key");
  const child = `child-${computer.slice(-6).replace(/^-/, "")}`;
  await done(["exec", computer, "--", "sh", "-c", "echo old > /work/a.txt"]);
  await done(["children", "create", computer, child, "--save", file]);
  const helper = await createCliUser(context, instance.url, (await readFile(file, "utf8")).trim());
  assert.equal((await helper.run(["exec", child, "--", "sh", "-c", "echo new > /work/a.txt"])).code, 0);
  assert.notEqual((await helper.run(["exec", computer, "--", "true"])).code, 0, "the parent is not its");
  const offered = await helper.run(["offers", "create", child, "--paths", "/work/a.txt", "--note", "newer"]);
  assert.equal(offered.code, 0, offered.stderr);
  const { offers } = (await asJson("offers", "list", computer)) as {
    offers: { id: string; digest: string }[];
  };
  const [{ id, digest } = { id: "", digest: "" }] = offers;
  const diff = await done(["offers", "diff", id]);
  assert.match(diff, new RegExp(`^from: +${child}$`, "m"));
  assert.match(diff, /^-old$\n^\+new$/m);
  assert.notEqual((await cli.run(["offers", "accept", id, "--digest", "0".repeat(64)])).code, 0);
  assert.match(await done(["offers", "accept", id, "--digest", digest]), /^state: +accepted$/m);
  assert.equal(await done(["exec", computer, "--", "cat", "/work/a.txt"]), "new\n");
  await done(["computers", "destroy", child, "--force"]);
});

test("a hold is taken, listed, renewed and released", async (context) => {
  const { computer, done, asJson } = await start(context);
  const { id } = await asJson("holds", "create", computer, "--reason", "thinking", "--for", "15m");
  assert.match(await done(["holds", "list", computer]), /^hld_\w+ {2}in 15 min .* thinking$/m);
  await done(["holds", "renew", computer, String(id), "--for", "1h"]);
  assert.match(await done(["holds", "list", computer]), /in (60 min|1 h) /);
  await done(["holds", "release", computer, String(id)]);
  assert.equal(await done(["holds", "list", computer]), "");
  await done(["computers", "update", computer, "--sleep-after", "5m", "--stop-after", "0", "--keep-awake"]);
  const told = await done(["computers", "show", computer]);
  assert.match(told, /^sleep after: +5m$\n^stop after: +never$/m);
  assert.match(told, /^keep awake: +yes$/m);
  await done(["computers", "update", computer, "--no-keep-awake"]);
  assert.equal((await asJson("computers", "show", computer))["keep_awake"], false);
});
