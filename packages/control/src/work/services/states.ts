import type { AgentServiceState } from "@holdfast/contract";
import { AgentFault, AgentUnreachable } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import { agentIfAwake, type CellParts } from "../cell.ts";

/** What a computer's agent says of its services; nothing while it is not awake, or does not answer. Wakes nothing. */
export const serviceStates = async (
  parts: CellParts,
  computer: Computer,
  signal: AbortSignal,
): Promise<readonly AgentServiceState[]> => (await serviceSet(parts, computer, signal)).services;

/** And which set it was given last; 0 where it says nothing. */
export const serviceSet = async (
  parts: CellParts,
  computer: Computer,
  signal: AbortSignal,
): Promise<{ readonly revision: number; readonly services: readonly AgentServiceState[] }> => {
  const agent = agentIfAwake(parts, computer);
  if (!agent) return nothing;
  const done = parts.computers.activity.look(computer.id);
  try {
    return await agent.plain("services.list", {}, { signal });
  } catch (error) {
    if (error instanceof AgentFault || error instanceof AgentUnreachable) return nothing;
    throw error;
  } finally {
    done();
  }
};

const nothing = { revision: 0, services: [] } as const;
