import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer, run } from "../support/computer.ts";
import { useAssistant } from "../support/use.ts";

const { assistant } = await useAssistant();

/** What root in a cell can leave where the next start reads or mounts; each once kept the computer from starting for good. */
const obstacles = {
  "a pipe at /etc/hostname": "rm -f /etc/hostname; mkfifo /etc/hostname",
  "a pipe at /etc/passwd": "cp /etc/passwd /etc/users; rm -f /etc/passwd; mkfifo /etc/passwd",
  "an endless link at /etc/hosts": "ln -sf /dev/zero /etc/hosts",
  "a file in place of the agent's state": "mv /var/lib/holdfast /var/lib/old; echo > /var/lib/holdfast",
  "a link to itself in place of the agent's state":
    "mv /var/lib/holdfast /var/lib/old; ln -s holdfast /var/lib/holdfast",
  "a file in place of the processes' records":
    "mv /var/lib/holdfast/processes /var/lib/old; echo > /var/lib/holdfast/processes",
  "a directory in place of the agent": "mv /.holdfast /.old; mkdir -p /.holdfast/agent/inside",
  "a directory where a start tries whether it can write": "mkdir -p /.holdfast-trial/inside",
  "a full disk without the agent's state":
    "mv /var/lib/holdfast /old; for size in 256M 16M 1M 64K 4K; do while fallocate -l $size /work/$size-$n; do n=$((n+1)); done; done; sync",
} as const;

for (const [what, command] of Object.entries(obstacles))
  test(`a computer starts again over ${what}`, async () => {
    const { client } = assistant;
    const computer = await createComputer(assistant);
    // The record of this very process may go with what it moves: only the next start is judged.
    await client.processes.exec({ computer, command, wait_ms: 10_000 }).catch(() => {});
    await client.computers.stop({ computer, wait_ms: 20_000 });
    const woken = await client.computers.wake({ computer, wait_ms: 20_000 });
    assert.equal(woken.state, "awake", woken.reason ?? "");
    assert.equal((await run(assistant, computer, "cat /etc/hostname")).process.exit_code, 0);
    await client.computers.destroy({ computer });
  });
