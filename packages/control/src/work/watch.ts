import { limits } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import { Loop } from "../lib/loop.ts";
import { listWatched, pruneProcesses } from "../store/processes.ts";
import type { Database } from "../store/transaction.ts";
import type { ProcessKeeper } from "./processes/keeper.ts";
import type { ServiceKeeper } from "./services/keeper.ts";

const everyMs = 5_000;
const pruneEveryMs = 10 * 60_000;
/** Computers looked at at the same time. */
const width = 8;

export interface WorkWatchParts {
  readonly db: Database;
  readonly nodeId: string;
  readonly processes: ProcessKeeper;
  readonly services: ServiceKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Looks from time to time at what changes by itself: ends of processes that nobody waits for, states of services. At start it finds what ended while control was away. */
export class WorkWatch {
  readonly #parts: WorkWatchParts;
  readonly #loop: Loop;
  #pruneAt: number;

  constructor(parts: WorkWatchParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#pruneAt = clock.monotonic();
    this.#loop = new Loop({ what: "looking at processes and services", everyMs, clock, logger }, async () => {
      await this.#look();
      await this.#prune();
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#parts.processes.stop();
    await this.#loop.stop();
  }

  async #prune(): Promise<void> {
    const { clock, db } = this.#parts;
    if (clock.monotonic() < this.#pruneAt) return;
    await pruneProcesses(db, limits.processesKept);
    this.#pruneAt = clock.monotonic() + pruneEveryMs;
  }

  async #look(): Promise<void> {
    const queue = [...(await listWatched(this.#parts.db, this.#parts.nodeId))];
    const worker = async (): Promise<void> => {
      for (let computer = queue.shift(); computer; computer = queue.shift()) await this.#lookAt(computer);
    };
    await Promise.all(Array.from({ length: width }, worker));
  }

  async #lookAt(computer: Computer): Promise<void> {
    const { processes, services, logger } = this.#parts;
    try {
      await processes.compare(computer);
      await services.look(computer);
    } catch (error) {
      // The reconciler finds out what is wrong with the cell; here it only means that there is nothing new to tell.
      logger.debug("a computer was not looked at", { computer: computer.id, error });
    }
  }
}
