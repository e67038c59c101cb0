import type { SupervisorMethods } from "@holdfast/contract";
import type { Clock, RpcClient } from "@holdfast/kit";

const full = 0.9;
/** With so many of the processes it may have, a computer may be in the trough of a fork bomb: most wait a second before they fork again. */
const many = 0.25;
const looksAtMany = 15;
const looksAtMemory = 3;
const betweenMs = 100;
const usageMs = 5_000;

export interface CrowdParts {
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly clock: Clock;
}

/**
 * Whether nothing in a computer can end in good order: at its limit of processes, or while the kernel kills in it for
 * memory, a fork bomb takes the place of whatever would start. Looks again
 * for up to 1.5 s where it might be. Throws when the supervisor does not answer within 5 s.
 */
export const isCrowded = async ({ supervisor, clock }: CrowdParts, computerId: string): Promise<boolean> => {
  const read = async () =>
    (await supervisor.call("usage.read", { computer_id: computerId }, { timeoutMs: usageMs })).usage;
  const first = await read();
  for (let look = 1, usage = first; usage !== null && first !== null; look += 1) {
    if (usage.pids > usage.pids_limit * full) return true;
    // What is cached of files counts as memory too: a full one says nothing unless something is killed for it.
    const filled = usage.memory_bytes > usage.memory_limit_bytes * full;
    if (filled && usage.oom_kills > first.oom_kills) return true;
    const looks = usage.pids > usage.pids_limit * many ? looksAtMany : looksAtMemory;
    if (look >= looks || (looks === looksAtMemory && !filled)) return false;
    await clock.sleep(betweenMs);
    usage = await read();
  }
  return false;
};
