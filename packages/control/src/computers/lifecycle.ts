import { HoldfastError, type OperationParams, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, NewId, RpcClient } from "@holdfast/kit";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Activity, Computer, DesiredState } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { OperationContext } from "../domain/handler.ts";
import { refuseStale } from "../domain/version.ts";
import type { Claimed, WarmCells } from "../domain/warm.ts";
import {
  changeComputer,
  type ComputerChange,
  desire,
  getComputer,
  type LifecycleValues,
} from "../store/computers.ts";
import { isForkOfRun, isNameSeen } from "../store/children.ts";
import { promoteComputer } from "../store/lifecycle.ts";
import { lockAssistant } from "../store/principals.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { admitComputer, nameTaken } from "./admission.ts";
import { takenUp, takeUp, type TakenUp } from "./claimed.ts";
import { findComputer } from "./computers.ts";
import { destroyWithChildren } from "./destroy.ts";
import { computerEvent } from "./events.ts";
import type { Reconciler } from "./reconciler.ts";
import { refusePacked, refuseSmaller } from "./smaller.ts";

export interface LifecycleParts {
  readonly db: Database;
  readonly reconciler: Reconciler;
  readonly activity: Activity;
  readonly ceilings: CeilingCheck;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly warm: WarmCells;
}

/** A computer whose row says what is wanted by now. */
export interface AdmittedComputer {
  readonly target: string;
  readonly computer: Computer;
  /** They go with it. */
  readonly children?: readonly Computer[];
}

/**
 * What callers ask of computers. Admission writes down what is wanted; the reconciler makes it so, and `await…` only watches it. So a caller
 * that goes away, or a control that is killed, changes nothing about what happens.
 */
export class Lifecycle {
  readonly #parts: LifecycleParts;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  async create(
    transaction: Transaction,
    { principal }: OperationContext,
    params: OperationParams<"computer.create">,
  ): Promise<AdmittedComputer & { readonly taken?: TakenUp }> {
    const { name, description, size, environment, lifetime_ms: lifetimeMs } = params;
    const { warm } = this.#parts;
    let taking: Promise<Claimed | undefined> | undefined;
    const computer = await admitComputer(this.#parts, transaction, {
      principal,
      name,
      description,
      size,
      environment,
      lifecycle: lifecycleOf(params),
      lifetimeMs,
      claim: (within, wanted) => warm.claim(within, wanted),
      // Beside the statements that write it down.
      claimed: (cell) => {
        taking = takeUp(this.#parts, cell, size).then((isTaken) => (isTaken ? cell : undefined));
      },
    });
    const cell = await taking;
    return {
      target: computer.id,
      computer,
      ...(cell && { taken: takenUp(this.#parts, computer, cell) }),
    };
  }

  /** As `awaitCreated`, of one that is being made for the first time. */
  async finishCreation(computer: Computer, waitMs: number, signal: AbortSignal): Promise<Computer> {
    const over = this.#parts.warm.creating();
    try {
      return await this.awaitCreated(computer, waitMs, signal);
    } finally {
      over();
    }
  }

  /** Waits until it is awake. Throws what kept it from being made; then nothing of it is left, and it may be tried again. */
  async awaitCreated(computer: Computer, waitMs: number, signal: AbortSignal): Promise<Computer> {
    this.#parts.crashPoint("computer-create-admitted");
    const made = await this.#parts.reconciler
      .settle(
        computer,
        (row) => (row.state !== "creating" && row.desiredState !== "destroyed") || row.state === "destroyed",
        { waitMs, signal },
      )
      .catch((error: unknown) => {
        // Control stops or the caller went away; the computer is made all the same. A failure here would free the idempotency key,
        // and the repeated request would find the name taken by its own computer.
        if (signal.aborted) return computer;
        throw error;
      });
    if (made.failureCode !== null && made.desiredState === "destroyed")
      throw new HoldfastError(made.failureCode, made.reason ?? "the computer could not be made", {
        computer: made.id,
        reason: made.reason,
      });
    return made;
  }

  async want(
    transaction: Transaction,
    { principal }: OperationContext,
    ref: string,
    desired: Exclude<DesiredState, "destroyed">,
  ): Promise<AdmittedComputer> {
    const computer = await findComputer(transaction, principal, ref, { lock: true });
    if (desired === "asleep" && computer.state !== "awake" && computer.state !== "asleep")
      throw new HoldfastError(
        "wrong_state",
        `${computer.name} is ${computer.state}, only one that is awake can sleep`,
        {
          state: computer.state,
        },
      );
    if (desired !== "awake" && computer.state === "creating")
      throw new HoldfastError("wrong_state", `${computer.name} is still being created`, {
        state: computer.state,
      });
    if (desired !== "awake" && computer.restoring !== null)
      throw new HoldfastError("wrong_state", `a snapshot is just being restored on ${computer.name}`, {
        state: computer.state,
      });
    this.#parts.activity.touch(computer.id);
    const wanted = await desire(transaction, computer.id, desired, this.#parts.clock.now());
    return { target: computer.id, computer: wanted ?? computer };
  }

  /** Destroying what is destroyed already is fine. */
  async destroy(
    transaction: Transaction,
    { principal }: OperationContext,
    ref: string,
  ): Promise<AdmittedComputer> {
    const computer = await findComputer(transaction, principal, ref, { lock: true, destroyed: true });
    const gone = await destroyWithChildren(transaction, computer.id, this.#parts.clock.now(), "asked");
    const children = gone.filter(({ id }) => id !== computer.id);
    return { target: computer.id, computer: gone.at(-1) ?? computer, children };
  }

  /** Committed: the computer and its children go. Waits as `awaitState` for the computer alone. */
  awaitDestroyed(
    { computer, children = [] }: AdmittedComputer,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<Computer> {
    for (const { id } of children) this.#parts.reconciler.nudge(id);
    return this.awaitState(computer, "destroyed", waitMs, signal);
  }

  /** Takes away lifetime and parent; nothing on it is touched. One that is durable already stays as it is. */
  async promote(
    transaction: Transaction,
    { principal }: OperationContext,
    ref: string,
  ): Promise<AdmittedComputer> {
    const { ceilings, clock, events } = this.#parts;
    const computer = await findComputer(transaction, principal, ref, { lock: true });
    if (computer.expiresAtMs === null && computer.parentId === null) return { target: computer.id, computer };
    const ownerId = computer.delegatorId ?? computer.principalId;
    if (computer.delegatorId !== null && computer.delegatorId !== principal.id && principal.kind !== "owner")
      throw new HoldfastError("not_found", `there is no computer ${ref} that you may promote`, {
        computer: ref,
      });
    if (await isForkOfRun(transaction, computer.id))
      throw new HoldfastError(
        "wrong_state",
        `a run goes on in ${computer.name}, which goes with it: fork the computer it is a run of, and let that stay`,
        { state: "run" },
      );
    // It counts for whoever it was made for already; only its name is new there.
    if (computer.delegatorId === principal.id) ceilings.changeComputer(principal, { name: computer.name });
    try {
      const promoted = await promoteComputer(transaction, computer.id, ownerId, clock.now());
      await events.append(transaction, computerEvent(promoted, "promoted", { cause: "asked" }));
      return { target: computer.id, computer: promoted };
    } catch (error) {
      throw nameTaken(error, computer.name);
    }
  }

  /** Waits for the state that was asked for; answers where it is by then. Throws `computer_failed` or `host_full` when it got stuck. */
  async awaitState(
    computer: Computer,
    state: DesiredState,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<Computer> {
    this.#parts.crashPoint("computer-state-admitted");
    const reached = await this.#parts.reconciler.settle(
      computer,
      (row) =>
        row.state === state ||
        row.state === "failed" ||
        row.desiredState !== state ||
        row.failureCode !== null,
      { waitMs, signal },
    );
    // Archiving that cannot be done is given up: it stays stopped.
    const gaveUp = state === "archived" && reached.failureCode !== null && reached.desiredState === "stopped";
    if (reached.state === "failed" || reached.failureCode === "host_full" || gaveUp)
      throw new HoldfastError(
        reached.failureCode ?? "computer_failed",
        `${reached.name} did not become ${state}: ${reached.reason ?? "no reason is known"}`,
        { computer: reached.id, state: reached.state, reason: reached.reason },
      );
    return reached;
  }

  async update(
    transaction: Transaction,
    { principal }: OperationContext,
    params: OperationParams<"computer.update">,
  ): Promise<AdmittedComputer> {
    const { activity, ceilings, clock } = this.#parts;
    const computer = await findComputer(transaction, principal, params.computer, { lock: true });
    refuseStale("computer", computer, params.if_match);
    const { name, description, size, environment } = params;
    ceilings.changeComputer(principal, { name, size });
    if (name !== undefined && name !== computer.name) await refuseSeen(transaction, computer, name);
    if (size !== undefined && size !== computer.size) {
      await ceilings.growComputer(transaction, principal, computer, size);
      refusePacked(computer, size);
      await refuseSmaller(this.#parts.supervisor, computer, size);
    }
    activity.touch(computer.id);
    const change: ComputerChange = { name, description, size, environment, ...lifecycleOf(params) };
    try {
      return {
        target: computer.id,
        computer: await changeComputer(transaction, computer.id, change, clock.now()),
      };
    } catch (error) {
      throw nameTaken(error, name ?? computer.name);
    }
  }

  /** A new size is applied by the supervisor. A computer without a volume gets it when that is made. */
  awaitResized(computer: Computer, signal: AbortSignal): Promise<Computer> {
    if (computer.image === null || computer.appliedSize === computer.size) return Promise.resolve(computer);
    return this.#parts.reconciler.settle(
      computer,
      (row) => row.appliedSize === row.size || row.state === "failed",
      { waitMs: resizeMs, signal },
    );
  }

  /** For repeated requests, which know the computer by its id. */
  async get(id: string): Promise<Computer> {
    const computer = await getComputer(this.#parts.db, id);
    if (!computer) throw new HoldfastError("not_found", `there is no computer ${id}`, { computer: id });
    return computer;
  }
}

const resizeMs = 5_000;

/** Whose the parent is finds a child by name as what is its own: neither may be called as another, whoever names it. */
const refuseSeen = async (
  transaction: Transaction,
  { delegatorId }: Computer,
  name: string,
): Promise<void> => {
  if (delegatorId === null) return;
  // Names that are given at once take turns.
  await lockAssistant(transaction, delegatorId);
  if (await isNameSeen(transaction, delegatorId, name))
    throw new HoldfastError("name_taken", `there is a computer called ${name} already`, { name });
};

const lifecycleOf = (params: LifecycleValues): LifecycleValues => ({
  sleep_after_ms: params.sleep_after_ms,
  stop_after_ms: params.stop_after_ms,
  archive_after_ms: params.archive_after_ms,
  keep_awake: params.keep_awake,
  keep_hourly: params.keep_hourly,
  keep_daily: params.keep_daily,
  keep_weekly: params.keep_weekly,
});
