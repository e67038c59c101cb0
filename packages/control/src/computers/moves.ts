import { limits, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, RpcClient } from "@holdfast/kit";
import type { CellObserver, Computer } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import { observeComputer, type Observed } from "../store/computers.ts";
import type { Store, Transaction } from "../store/transaction.ts";
import type { Move, Seen } from "./decide.ts";
import { computerEvent } from "./events.ts";
import { judgeEnd } from "./failures.ts";

export interface MoveParts {
  readonly store: Store;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly observer: CellObserver;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

export interface Moved {
  readonly computer: Computer;
  /** Not before this long from now should the next move be made. */
  readonly delayMs?: number;
}

/**
 * Every way in which a computer moves. Each may be killed at any line and made again: the supervisor's methods hold or do nothing the second
 * time, and the row is written last, in one transaction with the event that tells of it.
 */
export class Moves {
  readonly #parts: MoveParts;

  constructor(parts: MoveParts) {
    this.#parts = parts;
  }

  make(move: Exclude<Move, "none">, computer: Computer, seen: Seen): Promise<Moved> {
    switch (move) {
      case "resize":
        return this.#resize(computer);
      case "wake":
        return this.#wake(computer);
      case "sleep":
        return this.#sleep(computer);
      case "stop":
        return this.#stop(computer);
      case "destroy":
        return this.#destroy(computer);
      case "record_end":
        return this.#recordEnd(computer, seen);
    }
  }

  async #resize(computer: Computer): Promise<Moved> {
    const { supervisor, crashPoint } = this.#parts;
    crashPoint("computer-before-resize");
    await supervisor.call("volume.resize", { computer_id: computer.id, size: computer.size });
    crashPoint("computer-after-resize");
    return this.#record(computer, { appliedSize: computer.size, attempts: 0 }, null);
  }

  async #wake(computer: Computer): Promise<Moved> {
    const { supervisor, observer, crashPoint, clock } = this.#parts;
    const { id, size } = computer;
    let { image } = computer;
    if (image === null) {
      crashPoint("computer-before-volume");
      image = (await supervisor.call("volume.create", { computer_id: id, size })).image;
    }
    crashPoint("computer-before-cell");
    const { cell } = await supervisor.call("cell.start", {
      computer_id: id,
      size,
      lease_ms: limits.leaseMs,
    });
    crashPoint("computer-after-cell");
    const another = cell.cell_id !== computer.cellId;
    if (another || computer.state !== "asleep") await observer.started(computer, cell.cell_id);
    crashPoint("computer-before-awake");
    const awakeSinceMs = another ? clock.now() : (computer.awakeSinceMs ?? clock.now());
    return this.#record(
      computer,
      {
        state: "awake",
        image,
        cellId: cell.cell_id,
        appliedSize: size,
        awakeSinceMs,
        reason: null,
        failureCode: null,
        attempts: 0,
      },
      "awake",
      another && computer.cellId !== null ? (transaction) => observer.gone(transaction, computer) : undefined,
    );
  }

  async #sleep(computer: Computer): Promise<Moved> {
    const { supervisor, crashPoint } = this.#parts;
    crashPoint("computer-before-freeze");
    const { cell } = await supervisor.call("cell.freeze", { computer_id: computer.id });
    crashPoint("computer-after-freeze");
    if (!cell || cell.state === "exited") return this.#recordEnd(computer, cell ?? "none");
    return this.#record(computer, { state: "asleep", attempts: 0, awakeSinceMs: null }, "asleep");
  }

  async #stop(computer: Computer): Promise<Moved> {
    const { supervisor, observer, crashPoint } = this.#parts;
    if (computer.state === "asleep")
      await supervisor.call("cell.thaw", { computer_id: computer.id, lease_ms: limits.leaseMs });
    if (computer.cellId !== null) await observer.stopping(computer);
    crashPoint("computer-before-stop");
    await supervisor.call("cell.stop", { computer_id: computer.id });
    crashPoint("computer-after-stop");
    return this.#record(
      computer,
      { state: "stopped", cellId: null, awakeSinceMs: null, attempts: 0, reason: null, failureCode: null },
      computer.state === "stopped" ? null : "stopped",
      (transaction) => observer.gone(transaction, computer),
    );
  }

  async #destroy(computer: Computer): Promise<Moved> {
    const { supervisor, observer, crashPoint } = this.#parts;
    crashPoint("computer-before-destroy");
    await supervisor.call("volume.destroy", { computer_id: computer.id }, { timeoutMs: 120_000 });
    crashPoint("computer-after-destroy");
    const moved = await this.#record(
      computer,
      { state: "destroyed", cellId: null, awakeSinceMs: null, attempts: 0 },
      "destroyed",
      (transaction) => observer.gone(transaction, computer),
    );
    observer.forget(computer.id);
    return moved;
  }

  /** The cell ended without being asked to: the host restarted, its agent ended, it ran out of memory. */
  async #recordEnd(computer: Computer, seen: Seen): Promise<Moved> {
    const { observer, clock } = this.#parts;
    const exit = typeof seen === "string" ? null : seen.exit;
    const reason = endings[exit?.reason ?? "unknown"];
    const gone = (transaction: Transaction): Promise<void> => observer.gone(transaction, computer);
    const ended = { state: "stopped", cellId: null, awakeSinceMs: null, reason } as const;
    if (computer.desiredState !== "awake")
      // Memory is lost with the cell, so it cannot be asleep any more.
      return this.#record(computer, { ...ended, desiredState: "stopped" }, "stopped", gone);
    const { crashes, delayMs, failed } = judgeEnd(computer, clock.now());
    if (failed)
      return this.#record(
        computer,
        {
          ...ended,
          state: "failed",
          crashes,
          failureCode: "computer_failed",
          reason: `${reason}, ${crashes} times in a row soon after its start`,
        },
        "failed",
        gone,
      );
    return { ...(await this.#record(computer, { ...ended, crashes }, "stopped", gone)), delayMs };
  }

  /** Writes what is so now; `kind` is the event that tells of it. */
  async #record(
    computer: Computer,
    seen: Observed,
    kind: string | null,
    also?: (transaction: Transaction) => Promise<void>,
  ): Promise<Moved> {
    const { store, events, clock, crashPoint } = this.#parts;
    // A change of what is desired is only ours to make while the wish that led here stands.
    const whileDesired = seen.desiredState === undefined ? undefined : computer.desiredState;
    const written = await store.transaction(async (transaction) => {
      const [row] = await Promise.all([
        observeComputer(transaction, computer.id, seen, clock.now(), whileDesired),
        kind === null ? undefined : events.append(transaction, computerEvent(computer, kind, seen.reason)),
        also?.(transaction),
      ]);
      return row;
    });
    crashPoint("computer-recorded");
    return { computer: written ?? computer };
  }
}

const endings = {
  stopped: "it was stopped",
  agent_ended: "its agent ended",
  out_of_memory: "it ran out of memory",
  killed: "its cell was killed",
  start_failed: "its cell did not start",
  unknown: "its cell is gone (the host was restarted)",
} as const;
