import {
  type AgentServiceState,
  HoldfastError,
  limits,
  type OperationOutput,
  type OperationParams,
} from "@holdfast/contract";
import type { Clock, CrashPoint, NewId } from "@holdfast/kit";
import type { Agent } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import { refuseStale } from "../../domain/version.ts";
import { decodeCursor, pageOf } from "../../lib/cursor.ts";
import { isUniqueViolation } from "../../store/errors.ts";
import {
  changeService,
  deleteService,
  findService,
  insertService,
  listServices,
  nextRevision,
  type ServiceChange,
  serviceNameIndex,
  type ServiceRow,
} from "../../store/services.ts";
import type { Database, Transaction } from "../../store/transaction.ts";
import { agentIfAwake, type CellParts, isNotNow, withAgent } from "../cell.ts";
import { readPage } from "../processes/processes.ts";
import { changed, checkDefinition, definitionOf, pickDefinition } from "./definition.ts";
import type { ServiceKeeper } from "./keeper.ts";
import { refuseOversized } from "./size.ts";
import { serviceSet, serviceStates } from "./states.ts";
import { type ServiceView, serviceView } from "./view.ts";
import { type Progress, waitForReady } from "./waiting.ts";

export interface ServicesParts extends CellParts {
  readonly db: Database;
  readonly keeper: ServiceKeeper;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

export interface AdmittedService {
  readonly target: string;
  readonly computer: Computer;
  readonly row: ServiceRow;
  /** What it runs with or whether it should run has changed: sending the set starts it anew. */
  readonly renewed: boolean;
}

/**
 * Declared services. The definition is durable once admitted; what `run` does after that (sending it to the computer, waiting for a state)
 * may fail or be cut off, and is made up for when the computer is looked at or started next.
 */
export class Services {
  readonly #parts: ServicesParts;

  constructor(parts: ServicesParts) {
    this.#parts = parts;
  }

  /** `computer` is locked: creations on one computer take turns. */
  async create(
    transaction: Transaction,
    computer: Computer,
    params: OperationParams<"service.create">,
  ): Promise<AdmittedService> {
    const others = await listServices(transaction, computer.id);
    if (others.length >= limits.servicesPerComputer)
      throw new HoldfastError("limit_reached", `${computer.name} has ${others.length} services`, {
        limit: limits.servicesPerComputer,
      });
    const definition = pickDefinition(params) as Parameters<typeof checkDefinition>[1];
    checkDefinition(params.name, definition, others);
    try {
      const row = await insertService(transaction, {
        id: this.#parts.ids("service"),
        computerId: computer.id,
        name: params.name,
        definition,
        baseEnvironment: computer.environment,
        nowMs: this.#parts.clock.now(),
      });
      refuseOversized(computer, [...others, row]);
      await nextRevision(transaction, computer.id);
      return { target: row.id, computer, row, renewed: false };
    } catch (error) {
      if (!isUniqueViolation(error, serviceNameIndex)) throw error;
      throw new HoldfastError("name_taken", `${computer.name} has a service ${params.name} already`, {
        name: params.name,
      });
    }
  }

  async update(
    transaction: Transaction,
    computer: Computer,
    params: OperationParams<"service.update">,
  ): Promise<AdmittedService> {
    const row = ofComputer(await this.find(transaction, computer, params.service));
    refuseStale("service", row, params.if_match);
    const definition = changed(definitionOf(row), pickDefinition(params));
    const others = (await listServices(transaction, computer.id)).filter(({ id }) => id !== row.id);
    checkDefinition(row.name, definition, others);
    return this.#write(transaction, computer, row, { definition, baseEnvironment: computer.environment });
  }

  /** Start and restart take up the computer's environment of now. */
  async want(
    transaction: Transaction,
    computer: Computer,
    ref: string,
    desiredState: "running" | "stopped",
  ): Promise<AdmittedService> {
    const row = await this.find(transaction, computer, ref);
    return this.#write(transaction, computer, row, {
      desiredState,
      ...(desiredState === "running" ? { baseEnvironment: computer.environment } : {}),
    });
  }

  async delete(transaction: Transaction, computer: Computer, ref: string): Promise<AdmittedService> {
    const row = ofComputer(await this.find(transaction, computer, ref));
    await deleteService(transaction, row.id);
    await nextRevision(transaction, computer.id);
    return { target: row.id, computer, row, renewed: false };
  }

  /**
   * Sends the set and waits for `until`. With `wake` the computer is woken for it; else a computer that is not awake only has it written
   * down. That the computer cannot be reached is not an error: the definition stands.
   */
  async carryOut(
    admitted: AdmittedService,
    options: {
      readonly wake: boolean;
      readonly until: "ready" | "stopped";
      readonly restart: boolean;
      readonly waitMs: number;
      /** Whether waiting for `ready` has become pointless; default: only when it has failed. */
      readonly decided?: (progress: Progress) => boolean;
    },
    signal: AbortSignal,
  ): Promise<ServiceView> {
    const { computer, row } = admitted;
    const { keeper } = this.#parts;
    if (!options.wake && !agentIfAwake(this.#parts, computer)) return serviceView(row, undefined);
    try {
      const state = await withAgent(
        this.#parts,
        computer,
        signal,
        async (agent) => {
          const states = await keeper.push(computer);
          await this.#revive(agent, admitted, states, options.restart);
          const { until, waitMs, decided } = options;
          const reached = decided
            ? await waitForReady(agent, this.#parts.clock, row.id, { waitMs, decided, signal })
            : await agent.plain(
                "services.wait",
                { id: row.id, wait_ms: waitMs, state: until },
                { waitMs, signal },
              );
          await keeper.tell(computer, [row], [reached]);
          return reached;
        },
        { repeatable: true },
      );
      return serviceView(row, state);
    } catch (error) {
      if (isNotNow(error))
        return serviceView(row, undefined, `${error.message}; it takes effect when the computer is awake`);
      throw error;
    }
  }

  /** After `delete`: the agent stops what is no longer in the set. */
  async removed(admitted: AdmittedService): Promise<ServiceView> {
    const { computer, row } = admitted;
    await this.#parts.keeper.pushIfAwake(computer);
    return { ...serviceView({ ...row, desired_state: "stopped" }, undefined), state: "stopped" };
  }

  async list(
    computer: Computer,
    params: OperationParams<"service.list">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"service.list">> {
    const rows = await listServices(this.#parts.db, computer.id, {
      after: decodeCursor(params.cursor, /^[a-z0-9-]{1,40}$/),
      limit: params.limit + 1,
    });
    const page = pageOf(rows, params.limit, (row) => row.name);
    const states = page.rows.length === 0 ? [] : await serviceStates(this.#parts, computer, signal);
    return {
      services: page.rows.map((row) =>
        serviceView(
          row,
          states.find(({ id }) => id === row.id),
        ),
      ),
      next_cursor: page.nextCursor,
    };
  }

  async get(computer: Computer, ref: string, signal: AbortSignal): Promise<ServiceView> {
    const row = await this.find(this.#parts.db, computer, ref);
    const states = await serviceStates(this.#parts, computer, signal);
    return serviceView(
      row,
      states.find(({ id }) => id === row.id),
    );
  }

  /** Whether the agent has the set of now, and this one of it runs and is ready. */
  async isReady(
    computer: Computer,
    { id, desired_state }: ServiceRow,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (desired_state !== "running") return false;
    const { revision, services } = await serviceSet(this.#parts, computer, signal);
    return (
      revision >= computer.servicesRevision && services.some((one) => one.id === id && one.state === "ready")
    );
  }

  /** For a repeated creation. */
  async again(
    computer: Computer | undefined,
    row: ServiceRow | undefined,
    id: string,
    signal: AbortSignal,
  ): Promise<ServiceView> {
    if (!computer || !row)
      throw new HoldfastError("not_found", `service ${id} is deleted by now`, { service: id });
    return this.get(computer, row.id, signal);
  }

  async logs(
    computer: Computer,
    params: OperationParams<"service.logs">,
    signal: AbortSignal,
  ): Promise<OperationOutput<"service.logs">> {
    const row = await this.find(this.#parts.db, computer, params.service);
    return withAgent(this.#parts, computer, signal, async (agent) => {
      const cursor = params.cursor ?? (await endOfLog(agent, row.id, params.max_bytes));
      const read = (from: number, waitMs: number) =>
        agent.download(
          "output.read",
          { id: row.id, cursor: from, max_bytes: params.max_bytes, wait_ms: waitMs },
          { waitMs, signal },
        );
      const page = await readPage(read, {
        cursor,
        max_bytes: params.max_bytes,
        wait_ms: params.wait_ms,
        encoding: "text",
        merge: true,
      });
      return {
        text: params.cursor === undefined ? page.stdout.replace(/^\ufffd+/, "") : page.stdout,
        next_cursor: page.next_cursor,
        more: page.more,
        truncated_bytes: page.truncated_bytes + (params.cursor === undefined ? cursor : 0),
      };
    });
  }

  async find(db: Database | Transaction, computer: Computer, ref: string): Promise<ServiceRow> {
    const row = await findService(db, computer.id, ref);
    if (!row)
      throw new HoldfastError("not_found", `there is no service ${ref} on ${computer.name}`, {
        service: ref,
      });
    return row;
  }

  async #write(
    transaction: Transaction,
    computer: Computer,
    row: ServiceRow,
    change: ServiceChange,
  ): Promise<AdmittedService> {
    const written = await changeService(transaction, row.id, change, this.#parts.clock.now());
    refuseOversized(computer, await listServices(transaction, computer.id));
    await nextRevision(transaction, computer.id);
    const renewed =
      written.desired_state !== row.desired_state || environmentText(written) !== environmentText(row);
    return { target: row.id, computer, row: written, renewed };
  }

  /** Sending an unchanged definition leaves a service alone: one that is to run again is told so. */
  async #revive(
    agent: Agent,
    { row, renewed }: AdmittedService,
    states: readonly AgentServiceState[],
    restart: boolean,
  ): Promise<void> {
    if (row.desired_state !== "running") return;
    const state = states.find(({ id }) => id === row.id)?.state;
    const down = state === "failed" || state === "stopped";
    this.#parts.crashPoint("service-before-restart");
    if (down || (restart && !renewed)) await agent.plain("services.restart", { id: row.id });
  }
}

/** Throws `wrong_state` for a service that is a project's: a deploy would undo what is changed of it here. */
const ofComputer = (row: ServiceRow): ServiceRow => {
  if (row.project_id === null) return row;
  throw new HoldfastError(
    "wrong_state",
    `${row.name} belongs to the project ${row.project_id}: change that (\`project_update\` with its definition, then \`project_deploy\`)`,
    { state: "of_a_project", project: row.project_id },
  );
};

const environmentText = (row: ServiceRow): string =>
  JSON.stringify({ ...row.base_environment, ...definitionOf(row).environment });

/** Where the last `maxBytes` of a service's log begin. */
const endOfLog = async (agent: Agent, id: string, maxBytes: number): Promise<number> => {
  const { services } = await agent.plain("services.list", {});
  const state = services.find((service) => service.id === id);
  return Math.max(0, (state?.output_bytes ?? 0) - maxBytes);
};
