import { limits } from "@holdfast/contract";
import type { Logger } from "@holdfast/kit";
import type { Agents } from "../domain/agents.ts";
import type { CellObserver, Computer } from "../domain/computer.ts";
import { forgetEnvironment } from "../store/destroyed.ts";
import { deleteServices } from "../store/services.ts";
import type { Transaction } from "../store/transaction.ts";
import { isCrowded, type CrowdParts } from "./crowd.ts";
import type { ProcessKeeper } from "./processes/keeper.ts";
import type { ServiceKeeper } from "./services/keeper.ts";

const crowdedGraceMs = 1_000;

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

  async #graceMs(computer: Computer): Promise<number> {
    const crowded = await isCrowded(this.#parts, computer.id).catch((error: unknown) => {
      // A figure that cannot be had is no reason to end anything without a word.
      this.#parts.logger.warn("it is not known how crowded a computer is", { computer: computer.id, error });
      return false;
    });
    return crowded ? crowdedGraceMs : limits.stopGraceMs;
  }

  async gone(transaction: Transaction, computer: Computer): Promise<void> {
    await this.#parts.processes.gone(transaction, computer);
    if (computer.desiredState !== "destroyed") return;
    await Promise.all([
      deleteServices(transaction, computer.id),
      forgetEnvironment(transaction, computer.id),
    ]);
  }

  forget(computerId: string): void {
    this.#parts.agents.forget(computerId);
  }
}

export interface WorkObserverParts extends CrowdParts {
  readonly agents: Agents & { forget(computerId: string): void };
  readonly processes: ProcessKeeper;
  readonly services: ServiceKeeper;
  readonly logger: Logger;
}
