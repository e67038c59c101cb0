import type { AgentServiceState } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Agent } from "../../domain/agents.ts";

/** What tells whether there is anything left to wait for. */
export type Progress = Pick<AgentServiceState, "state" | "restarts">;

const turnMs = 1000;

/** Waits in short turns until it is ready, has failed, or `decided` says that it will hardly become ready; at most `waitMs`. */
export const waitForReady = async (
  agent: Agent,
  clock: Pick<Clock, "monotonic">,
  id: string,
  options: {
    readonly waitMs: number;
    readonly decided: (progress: Progress) => boolean;
    readonly signal: AbortSignal;
  },
): Promise<AgentServiceState> => {
  const { decided, signal } = options;
  const until = clock.monotonic() + options.waitMs;
  for (;;) {
    const leftMs = Math.max(0, Math.floor(until - clock.monotonic()));
    const waitMs = Math.min(leftMs, turnMs);
    const state = await agent.plain(
      "services.wait",
      { id, wait_ms: waitMs, state: "ready" },
      { waitMs, signal },
    );
    if (state.state === "ready" || state.state === "failed" || decided(state) || waitMs === leftMs)
      return state;
  }
};
