import {
  type AgentProbe,
  type AgentServiceSpec,
  HoldfastError,
  type OperationParams,
} from "@holdfast/contract";
import type { ServiceRow } from "../../store/services.ts";
import { signalNumber } from "../processes/signals.ts";
import { commandOf } from "../processes/spec.ts";

type CreateParams = OperationParams<"service.create">;

/** What a service is, as it was validated when it was written: stored whole, changed field by field. */
export type Definition = Pick<CreateParams, (typeof definitionFields)[number]>;

export const definitionFields = [
  "argv",
  "command",
  "cwd",
  "environment",
  "user",
  "port",
  "readiness",
  "liveness",
  "restart",
  "after",
  "stop_signal",
  "stop_grace_ms",
  "output_limit_bytes",
] as const;

export const definitionOf = (row: Pick<ServiceRow, "definition">): Definition =>
  row.definition as unknown as Definition;

/** The fields of a definition among the parameters of an operation. */
export const pickDefinition = (params: Readonly<Record<string, unknown>>): Partial<Definition> =>
  Object.fromEntries(
    definitionFields.filter((field) => params[field] !== undefined).map((field) => [field, params[field]]),
  );

/** `argv` and `command` take each other's place; all other fields stay unless given. */
export const changed = (definition: Definition, change: Partial<Definition>): Definition => {
  const { argv, command, ...rest } = definition;
  const runs = change.argv !== undefined || change.command !== undefined ? {} : { argv, command };
  return Object.fromEntries(
    Object.entries({ ...rest, ...runs, ...change }).filter(([, value]) => value !== undefined),
  ) as unknown as Definition;
};

/**
 * Throws `invalid_input` for what no single field shows: not exactly one of `argv` and `command`, a probe without a port, services that wait
 * for one another or for one that is not there. `others` is every other service of the computer.
 */
export const checkDefinition = (
  name: string,
  definition: Definition,
  others: readonly Pick<ServiceRow, "name" | "definition">[],
): void => {
  commandOf(definition);
  for (const field of ["readiness", "liveness"] as const) {
    const probe = definition[field];
    if (probe && probe.port === undefined && definition.port === undefined)
      throw invalid(field, "a check needs a port: its own, or the service's");
  }
  if (definition.restart.min_backoff_ms > definition.restart.max_backoff_ms)
    throw invalid("restart", "`min_backoff_ms` is larger than `max_backoff_ms`");
  const waitsFor = new Map(others.map((row) => [row.name, definitionOf(row).after]));
  waitsFor.set(name, definition.after);
  for (const other of definition.after)
    if (!waitsFor.has(other)) throw invalid("after", `there is no service ${other} on this computer`);
  const seen = new Set<string>();
  const queue = [...definition.after];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (next === name) throw invalid("after", "services would wait for one another");
    if (seen.has(next)) continue;
    seen.add(next);
    queue.push(...(waitsFor.get(next) ?? []));
  }
};

/** The whole set as the agent takes it. A service that was waited for and is gone is not waited for any more. */
export const specsOf = (rows: readonly ServiceRow[]): readonly AgentServiceSpec[] => {
  const ids = new Map(rows.map((row) => [row.name, row.id]));
  return rows.map((row) => specOf(row, ids));
};

const specOf = (row: ServiceRow, ids: ReadonlyMap<string, string>): AgentServiceSpec => {
  const definition = definitionOf(row);
  const port = definition.port ?? null;
  return {
    id: row.id,
    name: row.name,
    ...commandOf(definition),
    cwd: definition.cwd,
    env: {
      ...row.base_environment,
      ...(port === null ? {} : { PORT: String(port) }),
      ...definition.environment,
    },
    user: definition.user,
    port,
    desired: row.desired_state,
    restart: definition.restart,
    readiness: readinessOf(definition),
    liveness: probeOf(definition.liveness, port),
    after: definition.after.flatMap((name) => ids.get(name) ?? []),
    stop: { signal: signalNumber(definition.stop_signal), grace_ms: definition.stop_grace_ms },
    output_limit_bytes: definition.output_limit_bytes,
  };
};

/** Without a word about it: ready when its port takes connections, or at once when it has none. */
export const readinessOf = (definition: Definition): AgentProbe | null => {
  const port = definition.port ?? null;
  if (definition.readiness !== undefined || port === null) return probeOf(definition.readiness, port);
  return { kind: "tcp", port, path: "/", interval_ms: 500, timeout_ms: 2000, failures: 3 };
};

const probeOf = (probe: Definition["readiness"], port: number | null): AgentProbe | null => {
  const reached = probe?.port ?? port;
  if (!probe || reached === null) return null;
  return { ...probe, port: reached };
};

const invalid = (field: string, message: string): HoldfastError =>
  new HoldfastError("invalid_input", `${field}: ${message}`, { issues: [{ path: [field], message }] });
