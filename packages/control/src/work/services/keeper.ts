import type { AgentServiceState } from "@holdfast/contract";
import { type CrashPoint, Recent } from "@holdfast/kit";
import { AgentFault, type Agents, AgentUnreachable } from "../../domain/agents.ts";
import type { Computer } from "../../domain/computer.ts";
import type { EventLog } from "../../domain/events.ts";
import { getComputer } from "../../store/computers.ts";
import {
  hasOldEnvironments,
  listServices,
  renewEnvironments,
  type ServiceRow,
  tellServiceState,
} from "../../store/services.ts";
import type { Store } from "../../store/transaction.ts";
import { agentIfAwake } from "../cell.ts";
import { specsOf } from "./definition.ts";
import { fitTogether } from "./size.ts";
import { reasonOf } from "./view.ts";

export interface ServiceKeeperParts {
  readonly store: Store;
  readonly agents: Agents;
  readonly events: EventLog;
  readonly crashPoint: CrashPoint;
}

/** Keeps an agent's set of services equal to what is written down, and tells of their states. */
export class ServiceKeeper {
  readonly #parts: ServiceKeeperParts;
  /** Computers whose agent was told that there are no services any more, with the revision that said so. */
  readonly #emptied = new Recent<string, number>(rememberedEmpty);

  constructor(parts: ServiceKeeperParts) {
    this.#parts = parts;
  }

  /** A new cell: services start with the environment of now, or with the one before where that is too much to be sent. */
  async start(computer: Computer): Promise<void> {
    const { store } = this.#parts;
    if (await hasOldEnvironments(store.db, computer.id)) {
      const rows = await listServices(store.db, computer.id);
      const renewed = rows.map((row) => ({ ...row, base_environment: computer.environment }));
      if (fitTogether(renewed)) await renewEnvironments(store, computer.id);
    }
    await this.push(computer);
  }

  /** Sends the full set. May be repeated and overtaken: the agent refuses an older revision, and then tells of the newer set it has. */
  async push(computer: Computer): Promise<readonly AgentServiceState[]> {
    const { store, agents, crashPoint } = this.#parts;
    // The revision is read first: the set may then be newer than its number, never older.
    const now = await getComputer(store.db, computer.id);
    const rows = await listServices(store.db, computer.id);
    if (!now || (rows.length === 0 && now.servicesRevision <= 1)) return [];
    crashPoint("services-before-apply");
    const agent = agents.of(computer.id);
    const { services } = await agent
      .plain("services.apply", { revision: now.servicesRevision, services: specsOf(rows) })
      .catch((error: unknown) => {
        if (error instanceof AgentFault && error.agentCode === "stale_revision")
          return agent.plain("services.list", {});
        throw error;
      });
    crashPoint("services-applied");
    if (rows.length === 0) this.#emptied.set(computer.id, now.servicesRevision);
    await this.tell(computer, rows, services);
    return services;
  }

  /** As `push`, if somebody is there to be told. Whoever is not is told when the computer is looked at, or started, next. */
  async pushIfAwake(computer: Computer): Promise<void> {
    if (!agentIfAwake(this.#parts, computer)) return;
    await this.push(computer).catch((error: unknown) => {
      if (!(error instanceof AgentFault) && !(error instanceof AgentUnreachable)) throw error;
    });
  }

  async look(computer: Computer): Promise<void> {
    const rows = await listServices(this.#parts.store.db, computer.id);
    const { servicesRevision } = computer;
    const isEmpty = servicesRevision <= 1 || this.#emptied.get(computer.id) === servicesRevision;
    if (rows.length === 0 && isEmpty) return;
    const { revision, services } = await this.#parts.agents.of(computer.id).plain("services.list", {});
    // A change was written down and control ended before it was sent.
    if (revision < servicesRevision) await this.push(computer);
    else if (rows.length === 0) this.#emptied.set(computer.id, servicesRevision);
    else await this.tell(computer, rows, services);
  }

  /** One event for each state that lasts and is news. */
  async tell(
    computer: Computer,
    rows: readonly ServiceRow[],
    states: readonly AgentServiceState[],
  ): Promise<void> {
    const { store, events } = this.#parts;
    for (const row of rows) {
      const state = states.find(({ id }) => id === row.id);
      if (!state || passing.has(state.state) || state.state === row.told_state) continue;
      await store.transaction(async (transaction) => {
        if (!(await tellServiceState(transaction, row.id, state.state))) return;
        await events.append(transaction, {
          accountId: computer.accountId,
          kind: `service.${state.state}`,
          target: row.id,
          computerId: computer.id,
          visibleTo: computer.principalId,
          data: { name: row.name, reason: reasonOf(state), restarts: state.restarts },
        });
      });
    }
  }
}

const rememberedEmpty = 10_000;
const passing: ReadonlySet<AgentServiceState["state"]> = new Set(["waiting", "starting", "stopping"]);
