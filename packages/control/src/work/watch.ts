import { limits } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
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
  readonly #abort = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: WorkWatchParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#parts.processes.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, db, logger } = this.#parts;
    const { signal } = this.#abort;
    let pruneAt = clock.monotonic();
    while (!signal.aborted) {
      try {
        await this.#look();
        if (clock.monotonic() >= pruneAt) {
          await pruneProcesses(db, limits.processesKept);
          pruneAt = clock.monotonic() + pruneEveryMs;
        }
      } catch (error) {
        if (!signal.aborted) logger.warn("looking at processes and services failed", { error });
      }
      await clock.sleep(everyMs, signal).catch(() => {});
    }
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
