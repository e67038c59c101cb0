import { limits, type SupervisorMethods } from "@holdfast/contract";
import type { Logger, RpcClient } from "@holdfast/kit";
import type { Agents } from "../domain/agents.ts";
import type { CellObserver, Computer } from "../domain/computer.ts";
import { deleteServices } from "../store/services.ts";
import type { Transaction } from "../store/transaction.ts";
import type { ProcessKeeper } from "./processes/keeper.ts";
import type { ServiceKeeper } from "./services/keeper.ts";

const crowdedGraceMs = 1_000;
const usageMs = 5_000;

/** What `work/` does when a cell comes and goes. */
export class WorkObserver implements CellObserver {
  readonly #parts: WorkObserverParts;

  constructor(parts: WorkObserverParts) {
    this.#parts = parts;
  }

  async started(computer: Computer, cellId: string): Promise<void> {
    // A computer that is just being created has nothing to start and nothing to ask for.
    if (computer.image === null) return;
    const { processes, services } = this.#parts;
    await services.start(computer);
    await processes.compare({ ...computer, cellId });
  }

  async stopping(computer: Computer): Promise<void> {
    const { agents, processes, logger } = this.#parts;
    try {
      const graceMs = await this.#graceMs(computer);
      await agents.of(computer.id).plain("services.shutdown", { grace_ms: graceMs }, { waitMs: 2 * graceMs });
      await processes.compare(computer);
    } catch (error) {
      logger.warn("a computer is stopped without a graceful end", { computer: computer.id, error });
    }
  }

  /** At its limit of processes nothing in a computer can end in good order: a fork bomb takes the place of whatever would start for it. */
  async #graceMs(computer: Computer): Promise<number> {
    const { supervisor, logger } = this.#parts;
    const { usage } = await supervisor
      .call("usage.read", { computer_id: computer.id }, { timeoutMs: usageMs })
      .catch((error: unknown) => {
        // A figure that cannot be had is no reason to end anything without a word.
        logger.warn("it is not known how crowded a computer is", { computer: computer.id, error });
        return { usage: null };
      });
    const crowded = usage !== null && usage.pids > usage.pids_limit * 0.9;
    return crowded ? crowdedGraceMs : limits.stopGraceMs;
  }

  async gone(transaction: Transaction, computer: Computer): Promise<void> {
    await this.#parts.processes.gone(transaction, computer);
    if (computer.desiredState === "destroyed") await deleteServices(transaction, computer.id);
  }

  forget(computerId: string): void {
    this.#parts.agents.forget(computerId);
  }
}

export interface WorkObserverParts {
  readonly agents: Agents & { forget(computerId: string): void };
  readonly processes: ProcessKeeper;
  readonly services: ServiceKeeper;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly logger: Logger;
}
