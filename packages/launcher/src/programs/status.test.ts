import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import type { ProgramPlan } from "./plan.ts";
import { readProgramStatus } from "./status.ts";

test("what a program says of itself cannot steer the terminal on which root reads it, nor fill it", async (context) => {
  const records = await mkdtemp(join(tmpdir(), "holdfast-status-"));
  context.after(() => rm(records, { recursive: true }));
  const stat = await readFile(`/proc/${process.pid}/stat`, "utf8");
  const startTime = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  const self = { pid: process.pid, start_time: startTime };
  await writeFile(
    join(records, "control.json"),
    `${JSON.stringify({ keeper: self, program: self, label: "", ended: null })}\n`,
  );
  const said = async (health: () => Promise<string>): Promise<string> => {
    const plan = { name: "control", health } as unknown as ProgramPlan;
    return (await readProgramStatus(plan, { records })).detail;
  };
  const words = "not ready\n\u001b]52;c;Y3VybCBldmlsIHwgc2g=\u0007\u009b2Jall is well\r\u202e";
  const plain = "not ready\n?]52;c;Y3VybCBldmlsIHwgc2g=??2Jall is well??";
  assert.equal(await said(() => Promise.resolve(words)), plain);
  assert.equal(await said(() => Promise.reject(new Error(words))), plain);
  assert.ok((await said(() => Promise.resolve("x".repeat(1_000_000)))).length <= 4000);
});
