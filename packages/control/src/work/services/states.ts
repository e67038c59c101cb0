import type { AgentServiceState } from "@holdfast/contract";
import { AgentFault, AgentUnreachable } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import { agentIfAwake, type CellParts } from "../cell.ts";

/** What a computer's agent says of its services; nothing while it is not awake, or does not answer. Wakes nothing. */
export const serviceStates = async (
  parts: CellParts,
  computer: Computer,
  signal: AbortSignal,
): Promise<readonly AgentServiceState[]> => {
  const agent = agentIfAwake(parts, computer);
  if (!agent) return [];
  const done = parts.computers.activity.look(computer.id);
  try {
    return (await agent.plain("services.list", {}, { signal })).services;
  } catch (error) {
    if (error instanceof AgentFault || error instanceof AgentUnreachable) return [];
    throw error;
  } finally {
    done();
  }
};
