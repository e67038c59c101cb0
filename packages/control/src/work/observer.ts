import { limits } from "@holdfast/contract";
import type { Logger } from "@holdfast/kit";
import type { Agents } from "../domain/agents.ts";
import type { CellObserver, Computer } from "../domain/computer.ts";
import { forgetEnvironment } from "../store/destroyed.ts";
import { forgetSchedules } from "../store/schedules.ts";
import { deleteServices } from "../store/services.ts";
import type { Transaction } from "../store/transaction.ts";
import { type CrowdParts, untilCrowded } from "./crowd.ts";
import type { ProcessKeeper } from "./processes/keeper.ts";
import type { ServiceKeeper } from "./services/keeper.ts";

/** What `work/` does when a cell comes and goes. */
export class WorkObserver implements CellObserver {
  readonly #parts: WorkObserverParts;

  constructor(parts: WorkObserverParts) {
    this.#parts = parts;
  }

  async started(computer: Computer, cellId: string): Promise<void> {
    // A computer that is just being created has nothing to start and nothing to ask for, unless it is a copy.
    if (computer.image === null && computer.originSnapshotId === null) return;
    const { processes, services } = this.#parts;
    await services.start(computer);
    await processes.compare({ ...computer, cellId });
  }

  async stopping(computer: Computer): Promise<void> {
    const { processes, logger } = this.#parts;
    try {
      await this.#shutDown(computer);
      await processes.compare(computer);
    } catch (error) {
      logger.warn("a computer is stopped without a graceful end", { computer: computer.id, error });
    }
  }

  /** Gives services and processes their grace, and takes back what is left of it where it serves nobody. */
  async #shutDown(computer: Computer): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    const agent = this.#parts.agents.of(computer.id);
    const within = (graceMs: number) =>
      agent.plain("services.shutdown", { grace_ms: graceMs }, { waitMs: 2 * graceMs, signal });
    const ended = within(limits.stopGraceMs);
    const hurried = this.#comesToCrowd(computer, signal).then((crowded) => (crowded ? within(0) : ended));
    try {
      await Promise.race([ended, hurried]);
    } finally {
      over.abort();
    }
  }

  async #comesToCrowd(computer: Computer, signal: AbortSignal): Promise<boolean> {
    try {
      await untilCrowded(this.#parts, computer.id, signal);
      return true;
    } catch (error) {
      // A figure that cannot be had is no reason to end anything without a word.
      if (!signal.aborted)
        this.#parts.logger.warn("it is not known how crowded a computer is", {
          computer: computer.id,
          error,
        });
      return false;
    }
  }

  async gone(transaction: Transaction, computer: Computer): Promise<void> {
    await this.#parts.processes.gone(transaction, computer);
    if (computer.desiredState !== "destroyed") return;
    await Promise.all([
      deleteServices(transaction, computer.id),
      forgetSchedules(transaction, computer.id),
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
