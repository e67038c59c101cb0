import { HoldfastError } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Computer, Computers } from "../domain/computer.ts";
import type { Principal } from "../domain/principal.ts";
import { desire, findComputers } from "../store/computers.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import type { Reconciler } from "./reconciler.ts";

/** How long an operation that needs the cell waits for it; longer than any start that goes well. */
const reachMs = 20_000;

export class LivingComputers implements Computers {
  readonly #db: Database;
  readonly #reconciler: Reconciler;
  readonly #clock: Clock;

  constructor(parts: { readonly db: Database; readonly reconciler: Reconciler; readonly clock: Clock }) {
    this.#db = parts.db;
    this.#reconciler = parts.reconciler;
    this.#clock = parts.clock;
  }

  find(principal: Principal, ref: string, options: { readonly destroyed?: boolean } = {}): Promise<Computer> {
    return findComputer(this.#db, principal, ref, options);
  }

  choose(principal: Principal, ref: string, found: readonly Computer[]): Computer {
    return chooseComputer(principal, ref, found);
  }

  reach(computer: Computer, signal: AbortSignal): Promise<Computer> {
    if (computer.state === "awake" && computer.desiredState === "awake") return Promise.resolve(computer);
    return this.#wake(computer, signal, false);
  }

  reachAgain(computer: Computer, signal: AbortSignal): Promise<Computer> {
    return this.#wake(computer, signal, true);
  }

  async #wake(computer: Computer, signal: AbortSignal, verify: boolean): Promise<Computer> {
    if (computer.state === "failed") throw failed(computer);
    let wanted = computer;
    if (computer.desiredState !== "awake") {
      const row = await desire(this.#db, computer.id, "awake", this.#clock.now());
      if (!row) throw notFound(computer.name);
      wanted = row;
    }
    const reached = await this.#reconciler.settle(
      wanted,
      // With `verify` the row's word is what has just turned out wrong.
      (row, verified) => (verified || !verify) && isDecided(row),
      { waitMs: reachMs, signal, verify },
    );
    if (reached.state === "awake" && reached.desiredState === "awake") return reached;
    if (reached.desiredState === "destroyed") throw notFound(computer.name);
    if (reached.state === "failed") throw failed(reached);
    if (reached.failureCode === "host_full")
      throw new HoldfastError("host_full", reached.reason ?? "the host has no room to start the computer", {
        computer: computer.id,
      });
    throw new HoldfastError("computer_starting", `${computer.name} is not awake yet`, {
      computer: computer.id,
      state: reached.state,
    });
  }
}

const isDecided = (row: Computer): boolean =>
  (row.state === "awake" && row.desiredState === "awake") ||
  row.state === "failed" ||
  row.desiredState === "destroyed" ||
  row.failureCode !== null;

/** Throws `not_found`, also for what the principal may not see, and `invalid_input` for a name that an owner sees twice. */
export const findComputer = async (
  db: Database | Transaction,
  principal: Principal,
  ref: string,
  options: { readonly destroyed?: boolean; readonly lock?: boolean } = {},
): Promise<Computer> => {
  const found = await findComputers(db, { principal, ref, ...options });
  return chooseComputer(principal, ref, found);
};

const chooseComputer = (
  principal: Principal,
  ref: string,
  [first, second]: readonly Computer[],
): Computer => {
  if (!first) throw notFound(ref);
  if (second && first.principalId !== principal.id)
    throw new HoldfastError("invalid_input", `more than one computer is called ${ref}; use the id`, {
      issues: [{ path: ["computer"], message: "ambiguous name" }],
    });
  return first;
};

const notFound = (ref: string): HoldfastError =>
  new HoldfastError("not_found", `there is no computer ${ref}`, { computer: ref });

const failed = (computer: Computer): HoldfastError =>
  new HoldfastError(
    "computer_failed",
    `${computer.name} has failed: ${computer.reason ?? "no reason is known"}`,
    {
      computer: computer.id,
      reason: computer.reason,
    },
  );
