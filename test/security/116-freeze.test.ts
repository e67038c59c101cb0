import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { createComputer, pidsOf, python, run } from "../support/computer.ts";
import { servedProject } from "../support/projects.ts";
import { hangMs, until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";
import { visit } from "../support/visit.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

/** Processor ticks of all of a computer's processes, each with its pid. */
const ticks = async (computer: string): Promise<string> => {
  const all = await Promise.all(
    (await pidsOf(computer)).map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      const fields = stat.split(") ")[1]?.split(" ") ?? [];
      // One that was listed and is gone had ended before: nothing of it runs.
      return fields.length > 0 ? [`${pid}:${fields[11]}+${fields[12]}`] : [];
    }),
  );
  return all.flat().join(" ");
};

/** Throws when one of its processes does anything in the time. */
const assertFrozen = async (computer: string): Promise<void> => {
  const before = await ticks(computer);
  assert.ok(before.split(" ").length >= 4, before);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.equal(await ticks(computer), before);
};

const load = [
  "while :; do :; done &",
  "(setsid sh -c 'while :; do :; done' &)",
  "(trap '' TERM HUP CONT; while :; do sleep 0.01; done) &",
  "python3 -c 'import os\nwhile True: os.getppid()'",
].join("\n");

test("116: cells under load freeze at once, stay frozen over kill -9 of the programs, and go on where they were", async (context) => {
  const computers = await Promise.all(Array.from({ length: 8 }, () => createComputer(assistant)));
  const processes = await Promise.all(
    computers.map((computer) => client.processes.start({ computer, command: load })),
  );
  const project = await servedProject(assistant, computers[0] ?? "", "frozen");
  await new Promise((resolve) => setTimeout(resolve, 500));
  const begin = performance.now();
  const asleep = await Promise.all(computers.map((computer) => client.computers.sleep({ computer })));
  context.diagnostic(`eight cells under load were frozen after ${Math.round(performance.now() - begin)} ms`);
  assert.ok(asleep.every(({ state }) => state === "asleep"));
  await Promise.all(computers.map(assertFrozen));

  const before = await instance.programs();
  for (const name of ["control", "supervisor", "postgres"]) {
    const pid = before[name]?.pid;
    assert.ok(pid, name);
    process.kill(pid, "SIGKILL");
  }
  await Promise.all(computers.map(assertFrozen));
  await until(
    "every program is ready",
    async () => Object.values(await instance.programs()).every(({ ready }) => ready),
    {
      withinMs: 2 * hangMs,
    },
  );
  await Promise.all(computers.map(assertFrozen));
  const { computers: listed } = await client.computers.list({ limit: 200 });
  assert.ok(
    listed.every(({ state }) => state === "asleep"),
    JSON.stringify(listed.map(({ state }) => state)),
  );

  for (let count = 0; count < 5; count += 1) assert.equal((await visit(instance, project.slug)).status, 404);
  await assertFrozen(computers[0] ?? "");

  for (const [index, computer] of computers.entries()) {
    await client.computers.wake({ computer });
    const process = await client.processes.get({ computer, process: processes[index]?.id ?? "" });
    assert.equal(process.state, "running");
    await client.processes.signal({ computer, process: process.id, signal: "KILL" });
  }
});

test("116: nothing inside can freeze, thaw or leave its own cell", async () => {
  const computer = await createComputer(assistant);
  const out = await python(
    assistant,
    computer,
    `
import errno, os
wrote = []
for top, directories, files in os.walk("/sys/fs/cgroup"):
    for name in files:
        if name in ("cgroup.freeze", "freezer.state", "cgroup.kill", "memory.reclaim", "cpu.weight", "cpu.shares", "memory.max"):
            # Below it the agent has groups of its own for the processes that it starts.
            if top != "/sys/fs/cgroup": continue
            try:
                with open(os.path.join(top, name), "w") as file: file.write("0")
                wrote.append(os.path.join(top, name))
            except OSError: pass
print("wrote", wrote)
`,
  );
  assert.equal(out, "wrote []\n");
  await client.computers.sleep({ computer });
  assert.equal((await client.computers.get({ computer })).state, "asleep");
  assert.equal((await run(assistant, computer, "echo on")).stdout, "on\n");
});
