import type { AgentServiceState, OperationOutput } from "@holdfast/contract";
import { timestamp, timestampOrNull } from "../../lib/timestamp.ts";
import type { ServiceRow } from "../../store/services.ts";
import { exitView } from "../processes/view.ts";
import { definitionOf, readinessOf } from "./definition.ts";

export type ServiceView = OperationOutput<"service.get">;

/** A service as callees see it: its definition, and what its agent says of it (undefined while the computer is not awake). */
export const serviceView = (
  row: ServiceRow,
  state: AgentServiceState | undefined,
  reason: string | null = null,
): ServiceView => {
  const definition = definitionOf(row);
  return {
    id: row.id,
    computer: row.computer_id,
    name: row.name,
    command: definition.command ?? null,
    argv: definition.argv ?? null,
    cwd: definition.cwd,
    environment: definition.environment,
    user: definition.user,
    port: definition.port ?? null,
    readiness: readinessOf(definition) as ServiceView["readiness"],
    liveness: definition.liveness ?? null,
    restart: definition.restart,
    after: definition.after,
    stop_signal: definition.stop_signal,
    stop_grace_ms: definition.stop_grace_ms,
    output_limit_bytes: definition.output_limit_bytes,
    desired_state: row.desired_state,
    state: state?.state ?? "unknown",
    reason: state ? reasonOf(state) : reason,
    restarts: state?.restarts ?? 0,
    exit: exitView(state?.exit ?? null),
    ready_at: timestampOrNull(state?.ready_at_ms ?? null),
    created_at: timestamp(row.created_at_ms),
    updated_at: timestamp(row.updated_at_ms),
    version: String(row.version),
  };
};

/** Why it is as it is: the agent's own word, or how it ended where it does not run because of that. */
export const reasonOf = ({ state, reason, exit }: AgentServiceState): string | null => {
  if (reason !== null) return reason;
  return state === "backoff" || state === "failed" ? exitText(exit) : null;
};

const exitText = (exit: AgentServiceState["exit"]): string | null => {
  if (exit === null) return null;
  if (exit.kind === "lost") return "ended, and how is not known";
  return exit.kind === "exited" ? `exited with code ${exit.code}` : `killed by signal ${exit.signal}`;
};
