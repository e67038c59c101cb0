import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import { usePrivateInstance } from "../../support/instance.ts";
import { hangMs, until } from "../../support/until.ts";
import { sqlOf, untilWarm } from "../../support/warm.ts";

const instance = await usePrivateInstance("warm");
const pool = 10;
await instance.up({}, ["--warm", String(pool)]);
const assistant = await instance.assistant({ computers: 200 });
const { client } = assistant;

const sql = sqlOf(instance);
const filled = (): Promise<void> => untilWarm(instance, pool);

const look =
  "cat /etc/machine-id; hostname; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' '; ls -A /work /root; nproc";

test("lifecycle 3: fifty claims at once on a pool of ten: unique computers, each with its own identity, all alike", async (context) => {
  await filled();
  const begin = performance.now();
  const made = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const computer = await createComputer(assistant, { environment: { NUMBER: String(index) } });
      return { computer, afterMs: performance.now() - begin };
    }),
  );
  assert.equal(new Set(made.map(({ computer }) => computer)).size, 50);
  context.diagnostic(`made within ${Math.round(Math.max(...made.map(({ afterMs }) => afterMs)))} ms`);
  const seen = await Promise.all(
    made.map(async ({ computer }, index) => {
      const { stdout } = await run(assistant, computer, `${look}; echo $NUMBER; echo ${index} > /work/mine`);
      const [machine, host, random, ...rest] = stdout.trim().split("\n");
      assert.equal(rest.at(-1), String(index), "its own environment");
      return { machine, host, random, rest: rest.slice(0, -1).join("\n") };
    }),
  );
  for (const field of ["machine", "host", "random"] as const)
    assert.equal(new Set(seen.map((one) => one[field])).size, 50, field);
  assert.equal(new Set(seen.map(({ rest }) => rest)).size, 1, "a claimed one cannot be told from a cold one");
  const contents = await Promise.all(
    made.map(async ({ computer }) => (await run(assistant, computer, "cat /work/mine")).stdout),
  );
  contents.forEach((content, index) => assert.equal(content, `${index}\n`));
  await Promise.all(made.map(({ computer }) => client.computers.destroy({ computer })));
  await filled();
});

test("lifecycle 3: a warm computer of a stale image or policy is never handed out, and is taken away", async () => {
  for (const column of ["image", "policy"]) {
    await filled();
    const stale = sql(`update warm_cells set ${column} = 'stale' where state = 'ready' returning computer_id`)
      .split("\n")
      .filter((line) => line.startsWith("cmp_"));
    assert.ok(stale.length > 0);
    const made = await Promise.all(Array.from({ length: 5 }, () => createComputer(assistant)));
    assert.deepEqual(
      made.filter((computer) => stale.includes(computer)),
      [],
      column,
    );
    await until(
      "the stale ones are gone",
      async () => (await traces()).every((trace) => !stale.some((id) => trace.includes(id))),
      { withinMs: 4 * hangMs },
    );
    await Promise.all(made.map((computer) => client.computers.destroy({ computer })));
  }
});

test("warm computers outlive their programs once, and none is left over", async () => {
  await filled();
  const before = new Set(sql("select computer_id from warm_cells where state = 'ready'").split("\n"));
  for (const name of ["control", "supervisor"]) {
    const pid = (await instance.programs())[name]?.pid;
    assert.ok(pid);
    process.kill(pid, "SIGKILL");
  }
  await until(
    "a computer is made",
    async () =>
      client.computers.list().then(
        () => true,
        () => false,
      ),
    { withinMs: 2 * hangMs },
  );
  const computer = await createComputer(assistant);
  assert.equal((await run(assistant, computer, "echo in")).stdout, "in\n");
  await filled();
  const now = sql("select computer_id from warm_cells").split("\n");
  const known = [...now, computer];
  await until("no other computer has a trace", async () => (await instance.leftovers(known)).length === 0, {
    withinMs: 2 * hangMs,
  });
  assert.ok(
    now.some((id) => before.has(id)),
    "one that was ready is still",
  );
  await client.computers.destroy({ computer });
});

/** All that is of any computer. */
const traces = (): Promise<readonly string[]> => instance.leftovers([]);
