import { type HoldfastError, limits, type SupervisorMethods } from "@holdfast/contract";
import type { RpcClient } from "@holdfast/kit";
import type { Agents } from "../domain/agents.ts";
import type { Cause, CellObserver, Computer } from "../domain/computer.ts";
import type { Origins, Restorer } from "../domain/snapshots.ts";
import type { Trees } from "../domain/trees.ts";
import { desire, observeComputer } from "../store/computers.ts";
import type { Transaction } from "../store/transaction.ts";
import type { ComputerActivity } from "./activity.ts";
import type { Move, Seen } from "./decide.ts";
import { judgeEnd } from "./failures.ts";
import { renewIdentity } from "./identity.ts";
import { type Moved, recordMove, type RecordParts } from "./record.ts";
import { StorageMoves } from "./storage-moves.ts";
import { sleepAfterMs } from "./due.ts";

export interface MoveParts extends RecordParts {
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly observer: CellObserver;
  readonly activity: ComputerActivity;
  readonly agents: Agents;
  readonly trees: Pick<Trees, "pack" | "unpack">;
  readonly origins: Origins;
  readonly restorer: Restorer;
}

/**
 * Every way in which a computer moves. Each may be killed at any line and made again: the supervisor's methods hold or do nothing the second
 * time, and the row is written last, in one transaction with the event that tells of it.
 */
export class Moves {
  readonly #parts: MoveParts;
  readonly #storage: StorageMoves;

  constructor(parts: MoveParts) {
    this.#parts = parts;
    this.#storage = new StorageMoves(parts);
  }

  /** `runs` is called when a sleeper's cell runs again, before that is written down. */
  make(
    move: Exclude<Move, "none">,
    computer: Computer,
    seen: Seen,
    runs: (computer: Computer) => void = () => {},
  ): Promise<Moved> {
    switch (move) {
      case "resize":
        return this.#resize(computer);
      case "wake":
        return this.#wake(computer, runs);
      case "sleep":
        return this.#sleep(computer);
      case "stop":
        return this.#stop(computer);
      case "archive":
        return this.#storage.archive(computer);
      case "unarchive":
        return this.#storage.unarchive(computer);
      case "restore":
        return this.#storage.restore(computer);
      case "destroy":
        return this.#destroy(computer);
      case "record_end":
        return this.#recordEnd(computer, seen);
    }
  }

  /** Archiving or restoring came to nothing for good: the computer is what it was. Answers the row. */
  giveUp(computer: Computer, error: HoldfastError): Promise<Computer | undefined> {
    return this.#storage.giveUp(computer, error);
  }

  async #resize(computer: Computer): Promise<Moved> {
    const { supervisor, crashPoint } = this.#parts;
    crashPoint("computer-before-resize");
    await supervisor.call("volume.resize", { computer_id: computer.id, size: computer.size });
    crashPoint("computer-after-resize");
    return recordMove(this.#parts, computer, { appliedSize: computer.size, attempts: 0 }, { kind: null });
  }

  async #wake(computer: Computer, runs: (computer: Computer) => void): Promise<Moved> {
    const { activity, supervisor, observer, crashPoint, clock } = this.#parts;
    const { id, size } = computer;
    const known = isClaim(computer) ? null : computer.image;
    const image = known ?? (await this.#makeVolume(computer));
    crashPoint("computer-before-cell");
    const { cell } = await supervisor.call("cell.start", {
      computer_id: id,
      size,
      lease_ms: limits.leaseMs,
    });
    crashPoint("computer-after-cell");
    const made = { image, cellId: cell.cell_id, appliedSize: size, attempts: 0 };
    const another = cell.cell_id !== computer.cellId;
    if (computer.filling) {
      activity.stays(id);
      return recordMove(this.#parts, computer, made, { kind: null });
    }
    if (computer.identityDue) await this.#becomeItself(computer);
    if (!another && computer.state === "asleep") {
      activity.touch(id);
      activity.stays(id);
      runs({ ...computer, state: "awake" });
    }
    if (another || computer.state !== "asleep") await observer.started(computer, cell.cell_id);
    crashPoint("computer-before-awake");
    const moved = await recordMove(
      this.#parts,
      computer,
      {
        ...made,
        state: "awake",
        awakeSinceMs: another ? clock.now() : (computer.awakeSinceMs ?? clock.now()),
        reason: null,
        failureCode: null,
      },
      { kind: "awake" },
      another && computer.cellId !== null ? (transaction) => observer.gone(transaction, computer) : undefined,
    );
    // Idle time begins when it can be used.
    activity.touch(id);
    activity.stays(id);
    return moved;
  }

  async #makeVolume({ id, size, originSnapshotId, ...computer }: Computer): Promise<string> {
    const { supervisor, origins, crashPoint } = this.#parts;
    crashPoint("computer-before-volume");
    if (originSnapshotId === null)
      return (await supervisor.call("volume.create", { computer_id: id, size })).image;
    await origins.ready({ id, size, originSnapshotId, ...computer });
    crashPoint("computer-origin-ready");
    const forked = { computer_id: id, size, snapshot_id: originSnapshotId };
    return (await supervisor.call("volume.fork", forked)).image;
  }

  /** Before anything of it runs, and once: what it makes for itself afterwards is its own. */
  async #becomeItself(computer: Computer): Promise<void> {
    const { agents, store, clock, crashPoint } = this.#parts;
    await renewIdentity(agents.of(computer.id));
    crashPoint("computer-identity-renewed");
    await observeComputer(store.db, computer.id, { identityDue: false }, clock.now());
  }

  async #sleep(computer: Computer): Promise<Moved> {
    const { activity, supervisor, crashPoint } = this.#parts;
    crashPoint("computer-before-freeze");
    // Nothing is waited for between this look and `leave`: whoever comes later goes the waking way.
    if (this.#isWanted(computer)) return this.#stayAwake(computer);
    activity.leave(computer.id);
    const { cell } = await supervisor.call("cell.freeze", { computer_id: computer.id });
    crashPoint("computer-after-freeze");
    if (!cell || cell.state === "exited") return this.#recordEnd(computer, cell ?? "none");
    const moved = await recordMove(
      this.#parts,
      computer,
      { state: "asleep", attempts: 0, awakeSinceMs: null },
      { kind: computer.state === "asleep" ? null : "asleep" },
    );
    // A host that cannot, or is busy, has its memory back when it needs it.
    void supervisor.call("cell.reclaim", { computer_id: computer.id }).catch(() => {});
    return moved;
  }

  /** Somebody uses it, and sleeping was nobody's wish. */
  #isWanted(computer: Computer): boolean {
    const { activity } = this.#parts;
    if (computer.state !== "awake" || !isOwnDecision(computer.cause)) return false;
    if (activity.inUse(computer.id)) return true;
    const quietMs = activity.quietMs(computer.id);
    return quietMs < (computer.cause === "idle" ? sleepAfterMs(computer) : justNowMs);
  }

  async #stayAwake(computer: Computer): Promise<Moved> {
    const { store, clock } = this.#parts;
    const row = await desire(store.db, computer.id, "awake", clock.now(), "in_use", "asleep");
    return { computer: row ?? computer };
  }

  async #stop(computer: Computer): Promise<Moved> {
    const { activity, supervisor, observer, crashPoint } = this.#parts;
    activity.leave(computer.id);
    if (computer.state === "asleep")
      await supervisor.call("cell.thaw", {
        computer_id: computer.id,
        lease_ms: limits.leaseMs,
        ending: true,
      });
    if (computer.cellId !== null) await observer.stopping(computer);
    crashPoint("computer-before-stop");
    await supervisor.call("cell.stop", { computer_id: computer.id });
    crashPoint("computer-after-stop");
    return recordMove(
      this.#parts,
      computer,
      { state: "stopped", cellId: null, awakeSinceMs: null, attempts: 0, reason: null, failureCode: null },
      { kind: computer.state === "stopped" ? null : "stopped" },
      (transaction) => observer.gone(transaction, computer),
    );
  }

  async #destroy(computer: Computer): Promise<Moved> {
    const { activity, supervisor, observer, crashPoint } = this.#parts;
    activity.leave(computer.id);
    crashPoint("computer-before-destroy");
    const { erased } = await supervisor.call(
      "volume.destroy",
      { computer_id: computer.id },
      { timeoutMs: 120_000 },
    );
    crashPoint("computer-after-destroy");
    const moved = await recordMove(
      this.#parts,
      computer,
      { state: "destroyed", cellId: null, awakeSinceMs: null, attempts: 0, archive: null, restoring: null },
      { kind: "destroyed", more: { erased } },
      (transaction) => observer.gone(transaction, computer),
    );
    observer.forget(computer.id);
    activity.forget(computer.id);
    return moved;
  }

  /** The cell ended without being asked to: the host restarted, its agent ended, it ran out of memory. */
  async #recordEnd(computer: Computer, seen: Seen): Promise<Moved> {
    const { activity, observer, clock } = this.#parts;
    activity.leave(computer.id);
    const exit = typeof seen === "string" ? null : seen.exit;
    const reason = endings[exit?.reason ?? "unknown"];
    const gone = (transaction: Transaction): Promise<void> => observer.gone(transaction, computer);
    const ended = { state: "stopped", cellId: null, awakeSinceMs: null, reason } as const;
    const told = { kind: "stopped", cause: "cell_ended" } as const;
    if (computer.desiredState === "asleep")
      // Memory is lost with the cell, so it cannot be asleep any more.
      return recordMove(this.#parts, computer, { ...ended, desiredState: "stopped" }, told, gone);
    if (computer.desiredState !== "awake") return recordMove(this.#parts, computer, ended, told, gone);
    const { crashes, delayMs, failed } = judgeEnd(computer, clock.now());
    if (failed)
      return recordMove(
        this.#parts,
        computer,
        {
          ...ended,
          state: "failed",
          crashes,
          failureCode: "computer_failed",
          reason: `${reason}, ${crashes} times in a row soon after its start`,
        },
        { kind: "failed", cause: "cell_ended" },
        gone,
      );
    return { ...(await recordMove(this.#parts, computer, { ...ended, crashes }, told, gone)), delayMs };
  }
}

/** Also of one whose warm cell turned out to be none: its volume may have gone with it. */
const isClaim = ({ state, cellId, filling, originSnapshotId }: Computer): boolean =>
  state === "creating" && cellId !== null && !filling && originSnapshotId === null;

/** A use that is over for less than this counts still, where the host needs its memory. */
const justNowMs = 1_000;

const isOwnDecision = (cause: Cause): boolean => cause === "idle" || cause === "memory_pressure";

const endings = {
  stopped: "it was stopped",
  agent_ended: "its agent ended",
  out_of_memory: "it ran out of memory",
  killed: "its cell was killed",
  start_failed: "its cell did not start",
  unknown: "its cell is gone (the host was restarted)",
} as const;
