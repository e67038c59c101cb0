import { HoldfastError } from "@holdfast/contract";
import { type Agent, type Agents, AgentUnreachable } from "../domain/agents.ts";
import type { Computer, Computers } from "../domain/computer.ts";
import { usedAgent } from "./used-agent.ts";

export interface CellParts {
  readonly agents: Agents;
  readonly computers: Computers;
}

/**
 * Uses the agent of a computer, waking it first if needed. When the agent turns out not to be there (its cell ended or was frozen since the
 * row was read) the computer is looked at again and `use` is called once more, unless the first call may have been done and must not be done
 * twice. The computer counts as used until `use` is over, and until the end of what it has begun to stream.
 */
export const withAgent = async <T>(
  { agents, computers }: CellParts,
  computer: Computer,
  signal: AbortSignal,
  use: (agent: Agent, computer: Computer) => Promise<T>,
  options: { readonly repeatable?: boolean } = {},
): Promise<T> => {
  const done = computers.activity.use(computer.id);
  try {
    const awake = await computers.reach(computer, signal);
    const agent = usedAgent(agents.of(computer.id), () => computers.activity.use(computer.id));
    try {
      return await use(agent, awake);
    } catch (error) {
      if (!(error instanceof AgentUnreachable) || (error.begun && !options.repeatable)) throw error;
      return await use(agent, await computers.reachAgain(awake, signal));
    }
  } finally {
    done();
  }
};

/** The computer cannot be reached for now: what is written down for it takes effect when it can. */
export const isNotNow = (error: unknown): error is HoldfastError =>
  error instanceof HoldfastError && notNow.has(error.code);

const notNow: ReadonlySet<string> = new Set([
  "host_full",
  "computer_starting",
  "computer_failed",
  "cell_unreachable",
  "unavailable",
]);

/** Only while it is awake; undefined otherwise. For looking at what lives, which a sleeping computer has nothing to tell of. */
export const agentIfAwake = (
  { agents, computers }: Pick<CellParts, "agents"> & Partial<Pick<CellParts, "computers">>,
  computer: Computer,
): Agent | undefined =>
  computer.state === "awake" &&
  computer.desiredState === "awake" &&
  computers?.activity.isLeaving(computer.id) !== true
    ? agents.of(computer.id)
    : undefined;

/** For what is admitted only where it can be carried out. */
export const refuseFailed = (computer: Computer): Computer => {
  if (computer.state !== "failed") return computer;
  throw new HoldfastError(
    "computer_failed",
    `${computer.name} has failed: ${computer.reason ?? "no reason is known"}`,
    { computer: computer.id, reason: computer.reason },
  );
};
