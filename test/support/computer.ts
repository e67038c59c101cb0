import { readdir, readFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import assert from "node:assert/strict";
import type { OperationInput, OperationOutput } from "@holdfast/contract";
import type { Assistant } from "./instance.ts";

/** A new computer, awake; answers its id. Whatever is left after a file is destroyed by the instance's leak check. */
export const createComputer = async (
  { client }: Assistant,
  fields: Partial<OperationInput<"computer.create">> = {},
): Promise<string> => {
  const computer = await client.computers.create({
    name: `c-${randomBytes(5).toString("hex")}`,
    ...fields,
  });
  assert.equal(computer.state, "awake", computer.reason ?? "");
  return computer.id;
};

/** Runs a shell line to its end. Throws when it is still running after 50 s. */
export const run = async (
  { client }: Assistant,
  computer: string,
  command: string,
  fields: Partial<OperationInput<"process.exec">> = {},
): Promise<OperationOutput<"process.exec">> => {
  const result = await client.processes.exec({ computer, command, wait_ms: 50_000, ...fields });
  assert.equal(result.process.state, "ended", `still running: ${command}`);
  return result;
};

/** Runs a Python program inside the computer; answers its standard output, throws when it fails. */
export const python = async (
  assistant: Assistant,
  computer: string,
  program: string,
  fields: Partial<OperationInput<"process.exec">> = {},
): Promise<string> => {
  const result = await assistant.client.processes.exec({
    computer,
    argv: ["python3", "-c", program],
    wait_ms: 50_000,
    ...fields,
  });
  assert.equal(result.process.exit_code, 0, `${result.stdout}${result.stderr}`);
  return result.stdout;
};

/** Pids on the host of the computer's processes; the first is its agent, which is 1 inside. */
export const pidsOf = async (computer: string): Promise<readonly string[]> => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [cgroup = "", status = ""] = await Promise.all(
        ["cgroup", "status"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")),
      );
      const inside = Number(/^NSpid:.*\t(\d+)$/m.exec(status)?.[1] ?? 0);
      return cgroup.includes(computer) && inside > 0 ? [{ pid, inside }] : [];
    }),
  );
  return found
    .flat()
    .toSorted((a, b) => a.inside - b.inside)
    .map(({ pid }) => pid);
};
