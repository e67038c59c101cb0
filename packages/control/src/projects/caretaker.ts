import { HoldfastError } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { OperationReconciler } from "../domain/ports.ts";
import { getComputer } from "../store/computers.ts";
import { getProject, listCreating } from "../store/projects.ts";
import type { Store } from "../store/transaction.ts";
import type { Creation } from "./creation.ts";

const everyMs = 2_000;

export interface CaretakerParts {
  readonly store: Store;
  readonly creation: Creation;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeId: string;
  /** Operations that are being worked on. */
  readonly running: ReadonlySet<string>;
}

/** Takes back creations that were left behind: control ended in the middle of one, or its computer went away. */
export class Caretaker {
  readonly #parts: CaretakerParts;
  readonly #abort = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: CaretakerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, store, creation, nodeId, running } = this.#parts;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        for (const project of await listCreating(store.db, nodeId))
          if (!running.has(project.operation_id) && !signal.aborted)
            await creation.takeBack(project, await getComputer(store.db, project.computer_id));
      } catch (error) {
        if (!signal.aborted) logger.warn("looking for projects that were not made failed", { error });
      }
      await clock.sleep(everyMs, signal).catch(() => {});
    }
  }
}

/** A creation that was cut off is taken back first; then the request may be sent again. */
export const creationReconciler: OperationReconciler = {
  operations: ["project.create"],
  reconcile: async (transaction, { target }) => {
    if (target === null) return undefined;
    const project = await getProject(transaction, target);
    if (project?.state === "creating")
      throw new HoldfastError("unavailable", "the project is being taken back");
    return project ? { outcome: "succeeded" } : { outcome: "failed", error: "unavailable" };
  },
};
