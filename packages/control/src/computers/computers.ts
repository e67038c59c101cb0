import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Activity, Cause, Computer, Computers } from "../domain/computer.ts";
import type { Principal } from "../domain/principal.ts";
import { desire, findComputers, getComputer } from "../store/computers.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import type { ComputerActivity } from "./activity.ts";
import type { Reconciler } from "./reconciler.ts";

/** How long an operation that needs the cell waits for it; longer than any start that goes well. */
const reachMs = 20_000;

export class LivingComputers implements Computers {
  readonly #db: Database;
  readonly #reconciler: Pick<Reconciler, "settle">;
  readonly #activity: ComputerActivity;
  readonly #clock: Clock;
  /** How many wait for each. */
  readonly #waiting = new Map<string, number>();

  constructor(parts: {
    readonly db: Database;
    readonly reconciler: Pick<Reconciler, "settle">;
    readonly activity: ComputerActivity;
    readonly clock: Clock;
  }) {
    this.#db = parts.db;
    this.#reconciler = parts.reconciler;
    this.#activity = parts.activity;
    this.#clock = parts.clock;
  }

  get activity(): Activity {
    return this.#activity;
  }

  find(principal: Principal, ref: string, options: { readonly destroyed?: boolean } = {}): Promise<Computer> {
    return findComputer(this.#db, principal, ref, options);
  }

  choose(principal: Principal, ref: string, found: readonly Computer[]): Computer {
    return chooseComputer(principal, ref, found);
  }

  async reach(computer: Computer, signal: AbortSignal, cause: Cause = "needed"): Promise<Computer> {
    this.#activity.touch(computer.id);
    // One that is going to sleep as its row was read is not awake any more, whatever the row says.
    if (isAwake(computer) && !this.#activity.isLeaving(computer.id)) return computer;
    return this.#wait(computer, signal, { verify: false, cause });
  }

  reachAgain(computer: Computer, signal: AbortSignal): Promise<Computer> {
    return this.#wait(computer, signal, { verify: true, cause: "needed" });
  }

  async #wait(computer: Computer, signal: AbortSignal, how: Waking): Promise<Computer> {
    const waiting = this.#waiting.get(computer.id) ?? 0;
    if (waiting >= limits.wakesWaiting)
      throw starting(computer, `${waiting} operations wait for ${computer.name} to wake already`);
    this.#waiting.set(computer.id, waiting + 1);
    try {
      return await this.#wake(computer, signal, how);
    } finally {
      const left = (this.#waiting.get(computer.id) ?? 1) - 1;
      if (left > 0) this.#waiting.set(computer.id, left);
      else this.#waiting.delete(computer.id);
    }
  }

  async #wake(computer: Computer, signal: AbortSignal, { verify, cause }: Waking): Promise<Computer> {
    if (computer.state === "failed") throw failed(computer);
    let wanted = computer;
    if (computer.desiredState !== "awake" || this.#activity.isLeaving(computer.id)) {
      const row = await this.#want(computer, cause);
      if (!row) throw notFound(computer.name);
      if (row.state === "failed") throw failed(row);
      wanted = row;
    }
    const reached = await this.#reconciler.settle(
      wanted,
      (row, verified) => (verified || !verify) && isDecided(row),
      { waitMs: reachMs, signal, verify, early: cause === "visit" },
    );
    if (isAwake(reached)) return reached;
    if (reached.desiredState === "destroyed") throw notFound(computer.name);
    if (reached.state === "failed") throw failed(reached);
    if (reached.failureCode === "host_full")
      throw new HoldfastError("host_full", reached.reason ?? "the host has no room to start the computer", {
        computer: computer.id,
      });
    throw starting(reached, `${computer.name} is not awake yet`);
  }

  /** Where it is wanted awake by now nothing is written: many may come at once. */
  async #want(computer: Computer, cause: Cause): Promise<Computer | undefined> {
    const { desiredState } = computer;
    const now = this.#clock.now();
    // As a rule it is as it was read, and one statement says so.
    const wanted =
      desiredState === "awake" || desiredState === "destroyed"
        ? undefined
        : await desire(this.#db, computer.id, "awake", now, cause, desiredState);
    if (wanted) return wanted;
    const row = await getComputer(this.#db, computer.id);
    if (!row || row.desiredState === "destroyed") return undefined;
    if (row.desiredState === "awake" || row.state === "failed") return row;
    return desire(this.#db, row.id, "awake", now, cause);
  }
}

interface Waking {
  /** The row's word is what has just turned out wrong. */
  readonly verify: boolean;
  readonly cause: Cause;
}

/** One that is to be restored goes down first. */
const isAwake = (row: Computer): boolean =>
  row.state === "awake" && row.desiredState === "awake" && row.restoring === null;

const retryMs = 1000;

const starting = (computer: Computer, message: string): HoldfastError =>
  new HoldfastError("computer_starting", message, {
    computer: computer.id,
    state: computer.state,
    retry_after_ms: retryMs,
  });

const isDecided = (row: Computer): boolean =>
  isAwake(row) || row.state === "failed" || row.desiredState === "destroyed" || row.failureCode !== null;

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
