import type { HoldfastError, SupervisorMethods } from "@holdfast/contract";
import { type Clock, type Logger, Recent, type RpcClient } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Relief } from "../domain/memory.ts";
import { getComputer, observeComputer } from "../store/computers.ts";
import type { Store } from "../store/transaction.ts";
import type { ComputerActivity } from "./activity.ts";
import { decide, type Move, type Seen } from "./decide.ts";
import { computerEvent } from "./events.ts";
import { asHoldfastError, awayDelay, judge, type Verdict } from "./failures.ts";
import type { Moves } from "./moves.ts";

/** Computers that are moved at the same time. Most of a move is waiting for the supervisor. */
const mostAtOnce = 16;
/**
 * A cell that does not answer holds its move up for a minute. Those whose last move took long share half of the places, so that the others
 * are moved whatever they do.
 */
const mostSlowAtOnce = 8;
const slowMs = 3_000;
const slowRemembered = 1_000;
/** Whoever makes room says when there is some; this long at most. */
const reliefMs = 30_000;

interface Work {
  running: boolean;
  /** Somebody asked while it ran, so it looks once more. */
  again: boolean;
  /** The next look asks the supervisor for the cell instead of believing the row. */
  verify: boolean;
  /** Monotonic; no try before it unless somebody asks for something. */
  notBefore: number;
  /** How many times in a row the supervisor did not answer. */
  aways: number;
  cancelTimer: () => void;
}

interface Waiter {
  /** `verified`: the supervisor was asked after the wait began, or has just done something for this computer. */
  readonly tell: (computer: Computer, verified: boolean) => void;
  /** Needs the cell, not its row: is told of one that runs again before that is written down. */
  readonly early: boolean;
  /** Whether a row has been read since it waits. What was read before may be from before its wish was written down, and is not told to it. */
  isHeard: boolean;
}

/**
 * The only mover of computers, and the only recovery path: whatever was cut off by a crash is found by comparing what is desired with what
 * is, and done again. One move at a time for each computer, a bounded number over all.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #work = new Map<string, Work>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #queue: string[] = [];
  readonly #slow = new Recent<string, true>(slowRemembered);
  #running = 0;
  #slowRunning = 0;
  #stopped = false;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Looks at this computer soon. `verify`: compare with the cell as it really is. `urgent`: somebody asked; no backoff holds it up. */
  nudge(id: string, options: { readonly verify?: boolean; readonly urgent?: boolean } = {}): void {
    const work = this.#work.get(id) ?? {
      running: false,
      again: false,
      verify: false,
      notBefore: 0,
      aways: 0,
      cancelTimer: () => {},
    };
    this.#work.set(id, work);
    if (options.verify) work.verify = true;
    if (options.urgent) work.notBefore = 0;
    if (work.running || work.again) {
      work.again = true;
      return;
    }
    work.again = true;
    this.#queue.push(id);
    this.#pump();
  }

  /** The supervisor answers again: what waited for it is tried now. */
  hurry(): void {
    for (const [id, work] of this.#work) if (work.aways > 0) this.nudge(id, { urgent: true });
  }

  /**
   * Nudges, then waits until `until` holds for the row, at most `waitMs`. Answers the row as it is then, whether it holds or not. Throws the
   * signal's reason.
   */
  async settle(
    computer: Computer,
    until: (computer: Computer, verified: boolean) => boolean,
    options: {
      readonly waitMs: number;
      readonly signal: AbortSignal;
      readonly verify?: boolean;
      /** A sleeper that runs again counts as awake before its row says so: for who only needs its cell. What was wished is committed. */
      readonly early?: boolean;
    },
  ): Promise<Computer> {
    const { clock } = this.#parts;
    const { signal } = options;
    signal.throwIfAborted();
    const waiters = this.#waiters.get(computer.id) ?? new Set();
    this.#waiters.set(computer.id, waiters);
    let latest = computer;
    try {
      return await new Promise<Computer>((resolve, reject) => {
        const aborted = (): void => reject(asHoldfastError(signal.reason));
        const cancel = clock.after(options.waitMs, () => done());
        const done = (): void => {
          cancel();
          signal.removeEventListener("abort", aborted);
          waiters.delete(waiter);
          resolve(latest);
        };
        const waiter: Waiter = {
          early: options.early ?? false,
          isHeard: false,
          tell: (row, verified) => {
            latest = row;
            if (until(row, verified)) done();
          },
        };
        waiters.add(waiter);
        signal.addEventListener("abort", aborted, { once: true });
        this.nudge(computer.id, { urgent: true, verify: options.verify ?? false });
      });
    } finally {
      if (waiters.size === 0) this.#waiters.delete(computer.id);
    }
  }

  /** Waits for the moves under way; starts no more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const work of this.#work.values()) work.cancelTimer();
    while (this.#running > 0) await this.#parts.clock.sleep(10);
  }

  #pump(): void {
    while (!this.#stopped && this.#running < mostAtOnce) {
      const id = this.#next();
      const work = id === undefined ? undefined : this.#work.get(id);
      if (id === undefined || !work) return;
      const isSlow = this.#slow.get(id) === true;
      const began = this.#parts.clock.monotonic();
      this.#running += 1;
      if (isSlow) this.#slowRunning += 1;
      work.running = true;
      void this.#drive(id, work).finally(() => {
        this.#running -= 1;
        if (isSlow) this.#slowRunning -= 1;
        if (this.#parts.clock.monotonic() - began > slowMs) this.#slow.set(id, true);
        else this.#slow.delete(id);
        work.running = false;
        this.#rest(id, work);
        this.#pump();
      });
    }
  }

  /** The first in the queue that may be moved now. */
  #next(): string | undefined {
    if (this.#slowRunning < mostSlowAtOnce) return this.#queue.shift();
    const index = this.#queue.findIndex((id) => this.#slow.get(id) !== true);
    return index < 0 ? undefined : this.#queue.splice(index, 1)[0];
  }

  /** Moves until nothing is left to do, something failed, or a delay is due. */
  async #drive(id: string, work: Work): Promise<void> {
    work.again = false;
    work.cancelTimer();
    let move: Move = "none";
    let computer: Computer | undefined;
    try {
      while (!this.#stopped) {
        for (const waiter of this.#waiters.get(id) ?? []) waiter.isHeard = true;
        computer = await getComputer(this.#parts.store.db, id);
        if (!computer) return;
        // A move that was cut off may have frozen what its row says is awake.
        const verify = work.verify || this.#isDoubtful(computer);
        work.verify = false;
        if (!this.#isDoubtful(computer)) this.#tell(computer, false);
        const seen: Seen = verify ? await this.#look(id) : "unknown";
        move = decide(computer, seen);
        if (move === "none") {
          work.aways = 0;
          if (isAwake(computer) && verify) this.#parts.activity.stays(id);
          this.#tell(computer, verify);
          return;
        }
        if (work.notBefore > this.#parts.clock.monotonic()) return;
        const moved = await this.#parts.moves.make(move, computer, seen, (row) => this.#tellEarly(row));
        work.aways = 0;
        this.#tell(moved.computer, true);
        if (moved.delayMs) work.notBefore = this.#parts.clock.monotonic() + moved.delayMs;
      }
    } catch (error) {
      if (computer && move !== "none") await this.#failed(computer, move, error, work);
      else this.#retry(work, asHoldfastError(error), id);
    }
  }

  #isDoubtful(computer: Computer): boolean {
    return isAwake(computer) && this.#parts.activity.isLeaving(computer.id);
  }

  async #failed(computer: Computer, move: Move, cause: unknown, work: Work): Promise<void> {
    const { store, events, clock, logger } = this.#parts;
    const error = asHoldfastError(cause);
    const isAway = error.code === "unavailable";
    work.aways = isAway ? work.aways + 1 : 0;
    const verdict = this.#eased(computer, move, error) ?? judge(computer, move, error.code, work.aways);
    // Said once while the supervisor is away: what it said itself must not be pushed out of the log.
    if (work.aways <= 1)
      logger.warn("a computer did not move", { computer: computer.id, move, verdict, error });
    if (verdict.kind === "retry") work.notBefore = clock.monotonic() + verdict.delayMs;
    // What has been started may be there all the same.
    work.verify = computer.cellId !== null;
    if (isAway) return;
    try {
      if (verdict.kind === "give_up") {
        const left = await this.#parts.moves.giveUp(computer, error);
        if (left) this.#tell(left, true);
        work.again = true;
        return;
      }
      const told =
        verdict.kind === "retry" && !verdict.tell ? {} : { reason: error.message, failureCode: error.code };
      const written = await store.transaction(async (transaction) => {
        const [row] = await Promise.all([
          observeComputer(
            transaction,
            computer.id,
            {
              ...told,
              attempts: computer.attempts + 1,
              ...(verdict.kind === "fail" ? { state: "failed" as const } : {}),
              ...(verdict.kind === "undo" ? { desiredState: "destroyed" as const, attempts: 0 } : {}),
            },
            clock.now(),
            computer.desiredState,
          ),
          verdict.kind === "retry"
            ? undefined
            : events.append(
                transaction,
                computerEvent(computer, "failed", { reason: error.message, cause: "failed" }),
              ),
        ]);
        return row;
      });
      if (written) this.#tell(written, true);
      if (verdict.kind !== "retry") work.again = true;
    } catch (storeError) {
      this.#retry(work, asHoldfastError(storeError), computer.id);
    }
  }

  /** The first refusal by a full host is not its last word where room can be made: it is tried once more after that. */
  #eased(computer: Computer, move: Move, error: HoldfastError): Verdict | undefined {
    const isFirst = computer.attempts === 0 && error.code === "host_full";
    if (!isFirst || (move !== "wake" && move !== "unarchive")) return undefined;
    const isEased = this.#parts.relief?.ask(computer.id, error) ?? false;
    return isEased ? { kind: "retry", delayMs: reliefMs, tell: false } : undefined;
  }

  #retry(work: Work, error: Error, id: string): void {
    work.aways += 1;
    if (work.aways === 1)
      this.#parts.logger.warn("a computer could not be looked at", { computer: id, error });
    work.notBefore = this.#parts.clock.monotonic() + awayDelay(work.aways);
    work.verify = true;
  }

  /** After a drive: again at once, later, or not until somebody asks. */
  #rest(id: string, work: Work): void {
    if (this.#stopped) return;
    const waitMs = work.notBefore - this.#parts.clock.monotonic();
    if (work.again && (waitMs <= 0 || work.notBefore === 0)) {
      this.#queue.push(id);
      return;
    }
    work.again = false;
    if (waitMs > 0) {
      work.cancelTimer = this.#parts.clock.after(waitMs, () => this.nudge(id));
      return;
    }
    this.#work.delete(id);
  }

  async #look(id: string): Promise<Seen> {
    const { cells } = await this.#parts.supervisor.call("cell.list", {});
    return cells.find((cell) => cell.computer_id === id) ?? "none";
  }

  #tell(computer: Computer, verified: boolean): void {
    for (const { isHeard, tell } of this.#waiters.get(computer.id) ?? [])
      if (isHeard) tell(computer, verified);
  }

  #tellEarly(computer: Computer): void {
    for (const { early, isHeard, tell } of this.#waiters.get(computer.id) ?? [])
      if (early && isHeard) tell(computer, true);
  }
}

const isAwake = (row: Computer): boolean => row.state === "awake" && row.desiredState === "awake";

export interface ReconcilerParts {
  readonly store: Store;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly moves: Pick<Moves, "make" | "giveUp">;
  readonly activity: Pick<ComputerActivity, "isLeaving" | "stays">;
  /** Absent: no room is made for anybody. */
  readonly relief?: Relief;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
}
