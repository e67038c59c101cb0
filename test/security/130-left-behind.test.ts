import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { root } from "../../tools/node24.mjs";
import { ensureAgent } from "../../tools/setup/steps/agent.ts";

const { value: agent } = await ensureAgent(root, () => {});
const nobody = "65534:65534";

const runs = (pid: string): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
};

/** Keeps a program of nobody's that leaves a process behind in a session of its own, until it has ended. The number of that process. */
const keep = async (line: string): Promise<string> => {
  const argv = ["host", "program", "--user", nobody, "--no-new-privs", "--", "/bin/sh", "-c", line];
  const keeper = spawn(agent, argv, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  keeper.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said += chunk;
  });
  await once(keeper, "exit");
  const [, pid] = /^left (\d+)$/m.exec(said) ?? [];
  assert.ok(pid, said);
  return pid;
};

const leave = "(setsid sleep 300 >/dev/null 2>&1 & echo left $!) >&2";

test("130: what a taken program forked does not outlive it, whether it ends or is killed", async () => {
  for (const end of ["exit 0", "exit 3", "kill -9 $$"]) {
    const pid = await keep(`${leave}; ${end}`);
    assert.equal(runs(pid), false, `left behind after ${end}`);
  }
});
