import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { createCliUser } from "../support/cli.ts";
import { createComputer } from "../support/computer.ts";
import { useInstance } from "../support/instance.ts";
import { typeInto } from "../support/typed.ts";
import { until } from "../support/until.ts";

const instance = await useInstance();

const definition = {
  web: null,
  services: [
    { name: "talker", command: "for i in $(seq 100000); do printf 'line %s\\033[1m\\n' $i; sleep 0.2; done" },
  ],
};

/** A project whose one service counts, and somebody at a command line. */
const start = async (context: TestContext) => {
  const assistant = await instance.assistant();
  const computer = await createComputer(assistant);
  const cli = await createCliUser(context, instance.url, assistant.secret);
  const slug = `cli-${randomBytes(4).toString("hex")}`;
  const made = await assistant.client.projects.create({ computer, name: "talk", slug, template: "blank" });
  await assistant.client.projects.update({ project: slug, definition }, { ifMatch: made.version });
  await assistant.client.projects.deploy({ project: slug });
  return { assistant, cli, computer, slug };
};

test("a log is followed over a kill of control, without a gap, until Ctrl-C", {
  timeout: 120_000,
}, async (context) => {
  const { cli, computer, slug } = await start(context);
  const none = await cli.run(["logs", slug]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no web service[\s\S]*--service talker/);
  const named = await cli.run(["logs", slug, "--service", "talker"]);
  assert.ok(named.stdout.startsWith("line 1\x1b[1m\nline 2"), "a pipe gets it as it is");
  assert.equal((await cli.run(["logs", computer, "talk-talker"])).code, 0);
  assert.match((await cli.run(["logs", "no-such-project"])).stderr, /taken for a project/);

  const child = spawn(process.execPath, [cli.program, "logs", slug, "--service", "talker", "--follow"], {
    env: { ...cli.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  context.after(() => void child.kill("SIGKILL"));
  let seen = "";
  let words = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (seen += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (words += text));
  const ended = once(child, "exit");
  const lines = (): number[] => [...seen.matchAll(/^line (\d+)/gm)].map(([, number]) => Number(number));
  await until("it follows", () => lines().length > 5);
  const { control } = await instance.programs();
  assert.ok(control?.pid);
  process.kill(control.pid, "SIGKILL");
  const before = lines().at(-1) ?? 0;
  await until("it goes on", () => (lines().at(-1) ?? 0) > before + 20, {
    withinMs: 40_000,
    detail: () => words,
  });
  child.kill("SIGINT");
  assert.deepEqual(await ended, [130, null], words);
  const numbers = lines();
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => (numbers[0] ?? 0) + index),
    "no line is missing or told twice",
  );
});

test("on a terminal a log commands nothing", { timeout: 120_000 }, async (context) => {
  const { cli, slug } = await start(context);
  const { code, screen } = await typeInto(
    cli,
    ["logs", slug, "--service", "talker", "-f"],
    [["line 8", "\x03"]],
  );
  assert.equal(code, 130, screen);
  assert.match(screen, /line 7\r\nline 8/);
});

test("top shows what there is, and gives the terminal back", { timeout: 120_000 }, async (context) => {
  const { assistant, cli, computer, slug } = await start(context);
  const { name } = await assistant.client.computers.get({ computer });
  const once = await cli.run(["top"]);
  assert.equal(once.code, 0, once.stderr);
  assert.match(once.stdout, new RegExp(`^${name} +awake +\\d+% +\\S+/1\\.0G +\\S+/5\\.0G$`, "m"));
  assert.match(once.stdout, new RegExp(`^ {2}${slug} +no service +- +private +http://${slug}\\.`, "m"));
  assert.match(once.stdout, /^ {4}talker +ready +0 /m);
  const { computers } = JSON.parse((await cli.run(["top", "--json"])).stdout) as {
    computers: { id: string; usage: { memory_bytes: number }; projects: { slug: string }[] }[];
  };
  assert.deepEqual(
    computers.map(({ id, projects }) => [id, projects[0]?.slug]),
    [[computer, slug]],
  );
  assert.ok((computers[0]?.usage.memory_bytes ?? 0) > 0);

  for (const [key, expected] of [
    ["q", 0],
    ["\x03", 130],
  ] as const) {
    const { code, screen } = await typeInto(cli, ["top"], [["talker", key]]);
    assert.equal(code, expected, screen);
    assert.ok(screen.includes("\x1b[?1049h\x1b[?25l"), "a screen of its own");
    assert.ok(screen.endsWith("\x1b[?7h\x1b[?25h\x1b[?1049l"), "all of it given back");
  }
});
