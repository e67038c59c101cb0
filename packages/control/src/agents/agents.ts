import { agentProtocol, HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Agent, Agents } from "../domain/agents.ts";
import { SocketAgent, type Slots } from "./agent.ts";
import { type CallLimits, Caller } from "./calls.ts";
import type { Versions } from "./hello.ts";

/**
 * Agents by computer. `of` is cheap and says nothing about whether the computer is awake. What is remembered for each (its protocol
 * version, its calls under way) is dropped with `forget`, when the computer is destroyed.
 */
export class SocketAgents implements Agents {
  readonly #options: AgentsOptions;
  readonly #agents = new Map<string, Agent>();

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  of(computerId: string): Agent {
    const known = this.#agents.get(computerId);
    if (known) return known;
    const caller = new Caller({
      path: this.#options.socketPath(computerId),
      clock: this.#options.clock,
      versions: this.#options.versions ?? agentProtocol,
      limits: this.#options.limits ?? callLimits,
    });
    const agent = new SocketAgent(caller, countedSlots(limits.agentCalls));
    this.#agents.set(computerId, agent);
    return agent;
  }

  forget(computerId: string): void {
    this.#agents.delete(computerId);
  }
}

export interface AgentsOptions {
  /** Where the agent of a computer listens; `agentSocketPath` of an instance. */
  readonly socketPath: (computerId: string) => string;
  readonly clock: Clock;
  readonly versions?: Versions;
  readonly limits?: CallLimits;
}

const callLimits: CallLimits = { greetingMs: 5_000, stallMs: 30_000 };

/** One computer may not use up the descriptors of all: an agent that stalls every call stalls only so many. */
const countedSlots = (most: number): Slots => {
  let taken = 0;
  return {
    take: () => {
      if (taken >= most)
        throw new HoldfastError(
          "limit_reached",
          `${most} requests to this computer are under way; wait for some to end`,
          { limit: most },
        );
      taken += 1;
      let given = false;
      return () => {
        if (!given) taken -= 1;
        given = true;
      };
    },
  };
};
