import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { root } from "../../tools/node24.mjs";
import { createComputer, run } from "../support/computer.ts";
import { type Assistant, usePrivateInstance } from "../support/instance.ts";
import { simulateReboot } from "../support/reboot.ts";
import { hangMs, until } from "../support/until.ts";
import { visit } from "../support/visit.ts";

const opened = usePrivateInstance("launch");
let assistant: Assistant;
let computer: string;

before(async () => {
  assistant = await (await opened).assistant();
  computer = await createComputer(assistant);
  await run(
    assistant,
    computer,
    "echo kept > /work/file; (setsid sleep 86400 > /dev/null 2>&1 < /dev/null &)",
  );
});

const programs = ["postgres", "supervisor", "control", "gateway"] as const;

const pidsOf = async (): Promise<Record<string, number | null>> => {
  const views = Object.values(await (await opened).programs());
  return Object.fromEntries(views.map(({ name, pid }) => [name, pid]));
};

const kill = (pid: number | null | undefined): void => {
  assert.ok(pid, "it runs");
  process.kill(pid, "SIGKILL");
};

const allReady = async (): Promise<void> => {
  const instance = await opened;
  let last = "";
  await until(
    "every program is ready",
    async () => {
      const views = await instance.programs();
      last = JSON.stringify(views);
      return Object.values(views).every(({ ready }) => ready);
    },
    { withinMs: hangMs, detail: () => last },
  );
};

/** The process that was started at the beginning runs: the cell it is in was never taken down. */
const assertCellLives = async (): Promise<void> => {
  assert.match((await run(assistant, computer, "pgrep -x sleep; cat /work/file")).stdout, /^\d+\nkept\n$/);
};

test("up again changes nothing, and doctor finds everything proven", async () => {
  const pids = await pidsOf();
  await (await opened).up();
  assert.deepEqual(await pidsOf(), pids);
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(root, "bin/holdfast.mjs"),
    "doctor",
    "--json",
    "--instance",
    (await opened).name,
  ]);
  const { ok, proofs } = JSON.parse(stdout) as { readonly ok: boolean; readonly proofs: readonly unknown[] };
  assert.equal(ok, true);
  assert.ok(proofs.length >= 15, stdout);
});

test("a killed launcher takes no program with it, and the next up adopts them all", async () => {
  const { launcher, ...others } = await pidsOf();
  kill(launcher);
  await until("the launcher is gone", async () => (await pidsOf())["launcher"] === null);
  const { launcher: gone, ...went } = await pidsOf();
  assert.equal(gone, null);
  assert.deepEqual(went, others);
  await assertCellLives();
  await (await opened).up();
  const { launcher: next, ...adopted } = await pidsOf();
  assert.notEqual(next, launcher);
  assert.deepEqual(adopted, others);
});

for (const name of programs) {
  test(`a killed ${name} is back within 5 s, the others and the cell go on`, async (context) => {
    const { [name]: pid, ...others } = await pidsOf();
    kill(pid);
    await until(`${name} was started again`, async () => {
      const now = (await pidsOf())[name];
      return typeof now === "number" && now !== pid;
    });
    const since = performance.now();
    await allReady();
    context.diagnostic(`every program was ready ${Math.round(performance.now() - since)} ms after its start`);
    const { [name]: _again, ...after } = await pidsOf();
    assert.deepEqual(after, others);
    await assertCellLives();
  });
}

test("a killed gateway serves again within 2 s, each time", async (context) => {
  const instance = await opened;
  for (let count = 0; count < 3; count += 1) {
    const { gateway } = await pidsOf();
    kill(gateway);
    const since = performance.now();
    const answers = (): Promise<boolean> =>
      visit(instance, "nobody").then(
        ({ status }) => status === 404,
        () => false,
      );
    await until("it answers visitors", answers, { withinMs: 20_000 });
    const tookMs = performance.now() - since;
    context.diagnostic(`visitors were answered again after ${Math.round(tookMs)} ms`);
    assert.notEqual((await pidsOf())["gateway"], gateway);
  }
});

test("a killed keeper takes its program with it, and both are started again", async () => {
  const { control } = await (await opened).programs();
  kill(control?.keeper_pid);
  await until("control was started again", async () => {
    const now = (await (await opened).programs())["control"];
    return typeof now?.pid === "number" && now.pid !== control?.pid;
  });
  await allReady();
  await assertCellLives();
});

test("a control that is killed again and again, each time right after it served, is back within 5 s each time", async () => {
  for (let count = 0; count < 6; count += 1) {
    const { control } = await pidsOf();
    kill(control);
    await until("it is gone", async () => (await pidsOf())["control"] !== control);
    await allReady();
  }
  await assertCellLives();
});

test("all killed at once, launcher too: one up brings everything back, the cell never went", async () => {
  const pids = await pidsOf();
  for (const pid of Object.values(pids)) kill(pid);
  await (await opened).up();
  await allReady();
  await assertCellLives();
});

test("up with another domain reaches the programs that run already, and no computer ends", async () => {
  const instance = await opened;
  const before = await pidsOf();
  const domain = "apps.example.org";
  await instance.up({}, ["--projects-domain", domain]);
  const after = await pidsOf();
  assert.notEqual(after["gateway"], before["gateway"]);
  assert.equal(after["supervisor"], before["supervisor"]);
  const { stdout } = await promisify(execFile)("ps", ["-o", "args=", "-p", String(after["control"])]);
  assert.match(stdout, /--projects-address http:\/\/apps\.example\.org:/);
  await assertCellLives();
  await assert.rejects(instance.up({}, ["--projects-domain", "10.1.2.3"]), /--projects-domain: .*IP address/);
  assert.deepEqual(await pidsOf(), after, "a refusal changes nothing");
  await instance.up({}, ["--projects-domain", "localhost"]);
});

test("after a reboot up attaches, mounts and starts again, and computers that were awake come back with their files", async () => {
  const instance = await opened;
  await simulateReboot(instance);
  assert.deepEqual(await instance.leftovers([]).catch(() => []), []);
  await instance.up();
  await until("the computer is awake", async () => {
    const { state } = await assistant.client.computers.get({ computer });
    return state === "awake";
  });
  assert.equal((await run(assistant, computer, "cat /work/file; pgrep -x sleep")).stdout, "kept\n");
});

test("down ends programs, cells and mounts; up finds every file again", async () => {
  const instance = await opened;
  await instance.down();
  assert.deepEqual(await instance.leftovers([]), []);
  await instance.up();
  await until("the computer is awake", async () => {
    const { state } = await assistant.client.computers.get({ computer });
    return state === "awake";
  });
  assert.equal((await run(assistant, computer, "cat /work/file")).stdout, "kept\n");
});
