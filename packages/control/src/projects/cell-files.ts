import { limits } from "@holdfast/contract";
import { type Agent, AgentFault, type Agents } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";

const missing: ReadonlySet<string> = new Set(["not_found", "not_a_directory"]);

/** Whether the agent says so of what it was asked for. */
export const isMissing = (error: unknown): boolean =>
  error instanceof AgentFault && missing.has(error.agentCode);

/** Deletes a file, or a folder with all that is in it. One that is not there is deleted already. */
export const deleteAll = async (agent: Agent, path: string, signal?: AbortSignal): Promise<void> => {
  try {
    await agent.plain("files.delete", { path, recursive: true }, { signal, waitMs: limits.projectFilesMs });
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
};

/** What one operation needs for itself, on the computer's disk: it may be large. */
export const temporaryPath = (operationId: string): string => `/var/tmp/.holdfast-${operationId}`;

/** Goes also when the caller has gone. A computer that has ended meanwhile keeps it: it is nobody's to wake that for. */
export const deleteTemporary = (agents: Agents, computer: Computer, path: string): Promise<void> =>
  deleteAll(agents.of(computer.id), path).catch(() => {});
