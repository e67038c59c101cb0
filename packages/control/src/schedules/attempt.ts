import { type AgentProcessSpec, HoldfastError, limits } from "@holdfast/contract";
import { type Agent, AgentFault, type Agents } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import { timestamp } from "../lib/timestamp.ts";
import type { RunDefinition, RunRow } from "../store/runs.ts";
import { collectOutput, commandOf, isNotNow } from "../work/index.ts";

/** What a run's command finds in its environment beside what it was declared with. */
export const runVariables = (run: RunRow): Readonly<Record<string, string>> => ({
  HOLDFAST_RUN: run.id,
  HOLDFAST_ATTEMPT: String(run.attempt),
  ...(run.slot_ms === null ? {} : { HOLDFAST_SLOT: timestamp(run.slot_ms) }),
});

/** How an attempt's process is started. The agent ends it with all its children when it takes too long, also while control is away. */
export const specOf = (
  run: RunRow & { readonly process_id: string },
  { command, timeout_ms }: RunDefinition,
  computer: Computer,
): AgentProcessSpec => ({
  id: run.process_id,
  ...commandOf(command),
  cwd: command.cwd,
  env: { ...computer.environment, ...command.environment, ...runVariables(run) },
  user: command.user,
  stdin: run.input === null ? "closed" : { base64: Buffer.from(run.input).toString("base64") },
  timeout_ms,
  pty: null,
  output_limit_bytes: limits.outputLimitBytes,
});

/** What to make of an attempt that could not be begun. `later`: it may be possible, or may even have begun, and asking again settles it. */
export const verdictOn = (error: unknown): "failed" | "later" => {
  if (error instanceof AgentFault) return error.agentCode === "timed_out" ? "later" : "failed";
  if (!(error instanceof HoldfastError)) return "later";
  const { code } = error;
  // Nobody asked for a computer that has failed to be tried once more.
  if (code === "computer_failed") return "failed";
  return code === "internal" || code === "limit_reached" || isNotNow(error) ? "later" : "failed";
};

const termination = 15;
const killing = 9;
/** What is asked to end has this long to do so. */
const graceMs = 5_000;

/** Ends a process with all its children: asks first. The same again, or of one that has ended, does nothing. */
export const endProcess = async (agent: Agent, id: string, signal: AbortSignal): Promise<void> => {
  try {
    const asked = await agent.plain(
      "processes.signal",
      { id, signal: termination, scope: "all" },
      { signal },
    );
    if (asked.state === "ended") return;
    const now = await agent.plain("processes.get", { id, wait_ms: graceMs }, { waitMs: graceMs, signal });
    if (now.state === "ended" && !now.background) return;
    await agent.plain("processes.signal", { id, signal: killing, scope: "kill" }, { signal });
  } catch (error) {
    // It has ended, or was forgotten.
    if (!(error instanceof AgentFault) || error.agentCode === "timed_out") throw error;
  }
};

const longestCharacter = 4;

/** The end of what a process printed, as text. Undefined when it cannot be read: that must not hold up what it ran on. */
export const readTail = async (
  agents: Agents,
  computerId: string,
  process: { readonly id: string; readonly outputBytes: number },
  signal: AbortSignal,
): Promise<string | null> => {
  const most = limits.replyTextBytes;
  try {
    const download = await agents
      .of(computerId)
      .download(
        "output.read",
        { id: process.id, cursor: Math.max(0, process.outputBytes - most), max_bytes: most },
        { signal },
      );
    const { captured, total } = await collectOutput(download, most, { merge: true });
    const bytes = captured.bytesOf("stdout", total);
    // What begins within a character begins with the next one.
    const cut = process.outputBytes > most ? bytes.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0;
    return bytes.subarray(cut > 0 && cut < longestCharacter ? cut : 0).toString("utf8");
  } catch (error) {
    if (signal.aborted) throw error;
    return null;
  }
};
