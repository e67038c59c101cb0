import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { pidsOf, run } from "../support/computer.ts";
import { useComputer } from "../support/use.ts";

const { instance, assistant, computer } = await useComputer();

const scoreOf = async (pid: string | number): Promise<number> =>
  Number(await readFile(`/proc/${pid}/oom_score_adj`, "utf8"));

test("when the host runs out of memory cells go before our programs and Postgres, and what runs in them first", async (context) => {
  const programs = Object.values(await instance.programs());
  const ours = await Promise.all(programs.map(({ pid }) => scoreOf(pid ?? "self")));
  assert.ok(ours.length >= 4);
  assert.ok(
    ours.every((score) => score === ours[0] && score <= 0),
    String(ours),
  );
  const [agent = ""] = await pidsOf(computer);
  assert.equal(await scoreOf(agent), 500);
  const { stdout } = await run(assistant, computer, "cat /proc/self/oom_score_adj");
  assert.ok(Number(stdout) > 500, stdout);

  // Where the host spares our programs it also holds cells to theirs.
  const lowered = await run(
    assistant,
    computer,
    "for score in -1000 -900 -1 0 499 500; do echo $score > /proc/self/oom_score_adj && break; done; cat /proc/self/oom_score_adj",
  );
  const least = Number(lowered.stdout.trim().split("\n").at(-1));
  const spares = (ours[0] ?? 0) < 0;
  context.diagnostic(`programs ${ours[0]}, the least that a cell gives itself ${least}`);
  assert.ok(least >= (spares ? 500 : 0), lowered.stdout);
});
