import { HoldfastError, limits, type OperationParams } from "@holdfast/contract";
import { admitComputer } from "../computers/admission.ts";
import type { Agents } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { Trees } from "../domain/trees.ts";
import { changeComputer, endFilling, lockComputer } from "../store/computers.ts";
import type { Transaction } from "../store/transaction.ts";
import { limited } from "../work/index.ts";
import { asRefusal, parseDefinitions } from "./definitions.ts";
import type { AdmittedFork, Forking, ForkingParts } from "./forks.ts";
import { placeDefinitions } from "./placing.ts";

export interface ImportParts extends ForkingParts {
  readonly forking: Forking;
  readonly agents: Agents;
  readonly trees: Pick<Trees, "import">;
}

/** A cold start of a cell, on a busy host. */
const cellMs = 60_000;

/**
 * Computers from exported files. The row is written first, and nothing of the file runs before all of it is there and its definitions were judged: a
 * file is a stranger's. What fails or is cut off leaves no computer.
 */
export class Imports {
  readonly #parts: ImportParts;

  constructor(parts: ImportParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    { principal }: OperationContext,
    { name, size }: OperationParams<"snapshot.import">,
  ): Promise<AdmittedFork> {
    const wanted = { principal, name, size, description: "", environment: {}, filling: true };
    const computer = await admitComputer(this.#parts, transaction, wanted);
    return { target: computer.id, computer };
  }

  /** Fills it with the file; it starts by itself then. Throws what kept it from being filled, and it is destroyed. */
  async fill(
    context: OperationContext,
    { computer }: AdmittedFork,
    file: AsyncIterable<Uint8Array>,
  ): Promise<Computer> {
    const { store, agents, trees, forking, crashPoint, clock } = this.#parts;
    try {
      await this.#started(computer, context.signal);
      crashPoint("import-started");
      const found = await trees.import(
        agents.of(computer.id),
        limited(file, limits.uploadBytes),
        context.signal,
      );
      const definitions = parseDefinitions(found.definitions);
      crashPoint("import-filled");
      return await store.transaction(async (transaction) => {
        const locked = await lockComputer(transaction, computer.id);
        if (!locked?.filling || locked.desiredState === "destroyed")
          throw new HoldfastError("not_found", `${computer.name} is destroyed by now`, {
            computer: computer.id,
          });
        const { environment, description } = definitions;
        const change = { environment, description };
        const changed = await changeComputer(transaction, computer.id, change, clock.now());
        const filled = await endFilling(transaction, computer.id, clock.now());
        await placeDefinitions(this.#parts, transaction, changed, definitions, {
          operationId: context.operationId,
          principalId: context.principal.id,
          pauseSchedules: true,
        });
        return filled;
      });
    } catch (error) {
      await forking.discard(computer.id);
      throw asRefusal(error);
    }
  }

  /** Waits for its cell, in which nothing of its own runs. */
  async #started(computer: Computer, signal: AbortSignal): Promise<void> {
    const row = await this.#parts.reconciler.settle(
      computer,
      (now) => now.cellId !== null || now.desiredState === "destroyed" || now.failureCode !== null,
      { waitMs: cellMs, signal },
    );
    if (row.cellId !== null && row.desiredState === "awake") return;
    throw new HoldfastError(
      row.failureCode ?? "computer_starting",
      row.reason ?? "it did not start in time",
      {
        computer: computer.id,
      },
    );
  }
}
