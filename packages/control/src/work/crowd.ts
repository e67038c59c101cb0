import type { SupervisorMethods } from "@holdfast/contract";
import type { Clock, RpcClient } from "@holdfast/kit";

const lookEveryMs = 1_000;
const usageMs = 5_000;

export interface CrowdParts {
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly clock: Clock;
}

/**
 * Resolves once nothing in a computer can end in good order: as long as the kernel refuses it processes or kills in it for memory, a fork
 * bomb takes the place of whatever would start. Counts once a second. Rejects with the signal's reason, or when the supervisor does not
 * answer within 5 s.
 */
export const untilCrowded = async (
  { supervisor, clock }: CrowdParts,
  computerId: string,
  signal: AbortSignal,
): Promise<void> => {
  const refusals = async (): Promise<number> => {
    const params = { computer_id: computerId };
    const { usage } = await supervisor.call("usage.read", params, { timeoutMs: usageMs });
    return usage === null ? 0 : usage.refused_forks + usage.oom_kills;
  };
  const before = await refusals();
  do await clock.sleep(lookEveryMs, signal);
  while ((await refusals()) === before);
};
