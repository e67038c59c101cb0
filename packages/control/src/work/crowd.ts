import type { SupervisorMethods } from "@holdfast/contract";
import type { Clock, RpcClient } from "@holdfast/kit";

const full = 0.9;
const usageMs = 5_000;
const betweenMs = 200;

export interface CrowdParts {
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly clock: Clock;
}

/**
 * Whether nothing in a computer can end in good order: at its limit of processes, or while the kernel kills in it for
 * memory, a fork bomb takes the place of whatever would start. Throws when the supervisor does not answer within 5 s.
 */
export const isCrowded = async ({ supervisor, clock }: CrowdParts, computerId: string): Promise<boolean> => {
  const read = async () =>
    (await supervisor.call("usage.read", { computer_id: computerId }, { timeoutMs: usageMs })).usage;
  const first = await read();
  if (first === null) return false;
  if (first.pids > first.pids_limit * full) return true;
  // What is cached of files counts as memory too: a full one says nothing unless something is killed for it.
  if (first.memory_bytes <= first.memory_limit_bytes * full) return false;
  await clock.sleep(betweenMs);
  const second = await read();
  return second !== null && second.oom_kills > first.oom_kills;
};
