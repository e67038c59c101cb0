import { HoldfastError } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { OperationReconciler } from "../domain/ports.ts";
import { Loop } from "../lib/loop.ts";
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
  readonly #loop: Loop;

  constructor(parts: CaretakerParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#loop = new Loop(
      { what: "looking for projects that were not made", everyMs, clock, logger },
      (signal) => this.#look(signal),
    );
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { store, creation, nodeId, running } = this.#parts;
    for (const project of await listCreating(store.db, nodeId))
      if (!running.has(project.operation_id) && !signal.aborted)
        await creation.takeBack(project, await getComputer(store.db, project.computer_id));
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
