import type { ComputerSize, ErrorCode } from "@holdfast/contract";
import type { Transaction } from "../store/transaction.ts";
import type { Principal } from "./principal.ts";

export type ComputerState = "creating" | "awake" | "asleep" | "stopped" | "archived" | "failed" | "destroyed";
export type DesiredState = "awake" | "asleep" | "stopped" | "archived" | "destroyed";

/** Why a computer moves. Events of transitions carry it as `cause`. */
export type Cause =
  /** Somebody asked for this state. */
  | "asked"
  /** An operation, a visit, a run needed it awake. */
  | "needed"
  | "visit"
  | "schedule"
  /** By itself: nothing happened for long, it slept for long, it was stopped for long. */
  | "idle"
  | "long_asleep"
  | "long_stopped"
  | "memory_pressure"
  /** Its lifetime is over, or its parent's. */
  | "expired"
  | "parent_destroyed"
  | "restore"
  /** It was to be put to sleep, and somebody came. */
  | "in_use";

/** A restoring that is under way. `id`: of the snapshot of what is replaced. */
export interface Restoring {
  readonly id: string;
  readonly snapshotId: string;
  readonly definitions: boolean;
  /** What it is to be when it is done. */
  readonly afterwards: "awake" | "asleep" | "stopped";
}

/** A computer as it was recorded last. */
export interface Computer {
  readonly id: string;
  readonly accountId: string;
  readonly principalId: string;
  readonly name: string;
  readonly description: string;
  readonly size: ComputerSize;
  readonly environment: Readonly<Record<string, string>>;
  readonly state: ComputerState;
  readonly desiredState: DesiredState;
  /** Why it is desired. */
  readonly cause: Cause;
  readonly reason: string | null;
  readonly failureCode: ErrorCode | null;
  readonly attempts: number;
  readonly crashes: number;
  readonly image: string | null;
  readonly cellId: string | null;
  readonly appliedSize: ComputerSize | null;
  readonly servicesRevision: number;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly awakeSinceMs: number | null;
  /** Milliseconds; 0: never; null: what its size has. */
  readonly sleepAfterMs: number | null;
  readonly stopAfterMs: number | null;
  readonly archiveAfterMs: number;
  readonly keepAwake: boolean;
  readonly keepHourly: number;
  readonly keepDaily: number;
  readonly keepWeekly: number;
  readonly activeAtMs: number;
  readonly stateSinceMs: number;
  readonly expiresAtMs: number | null;
  readonly parentId: string | null;
  /** Whose the parent is; may see and decide about it as its own. */
  readonly delegatorId: string | null;
  readonly originSnapshotId: string | null;
  readonly identityDue: boolean;
  readonly filling: boolean;
  readonly restoring: Restoring | null;
  readonly archive: { readonly digest: string; readonly bytes: number } | null;
}

/** What others may ask about computers. Filled by `computers/`. */
export interface Computers {
  readonly activity: Activity;
  /** By id or name, among those the principal may see. Throws `not_found`; a destroyed one is found by its id when `destroyed` is set. */
  find(principal: Principal, ref: string, options?: { readonly destroyed?: boolean }): Promise<Computer>;
  /** The one meant by `ref` among the rows found for it, own ones first. Throws as `find`. */
  choose(principal: Principal, ref: string, found: readonly Computer[]): Computer;
  /**
   * Returns at once when the computer is awake; else wakes it (asleep or stopped) and waits. Throws `not_found` when it is being
   * destroyed, `computer_failed`, `host_full`, or `computer_starting` when the wait is over before it is awake, or too many wait. Hold
   * `Activity.use` from before it to the end of what the computer is needed for: else it may fall asleep in between.
   */
  reach(computer: Computer, signal: AbortSignal, cause?: Cause): Promise<Computer>;
  /** After the agent did not answer: looks at the cell again, mends what is to mend, then as `reach`. */
  reachAgain(computer: Computer, signal: AbortSignal): Promise<Computer>;
}

/** What keeps computers from falling asleep, in memory: after a start of control all count as just used. Filled by `computers/`. */
export interface Activity {
  /** Something that needs the computer has begun; call what it returns when that ends, once or more often. */
  use(computerId: string): () => void;
  /** As `use`, for what only looks at what lives there: it does not fall asleep meanwhile, and its idle time goes on. */
  look(computerId: string): () => void;
  /** Something has happened on it. */
  touch(computerId: string): void;
  /** Something is under way there, or looks at it. */
  inUse(computerId: string): boolean;
  /** It is being frozen or stopped, or is by now, whatever a row says that was read before. */
  isLeaving(computerId: string): boolean;
  /** For how long nothing has happened on it, milliseconds; 0 while something is under way. */
  quietMs(computerId: string): number;
}

export interface RestingChange {
  readonly id: string;
  readonly rests: boolean;
}

/** Tells as it happens which computers rest. Filled by `computers/`. */
export interface RestingWatch {
  /** What changed after a revision, oldest first, at most `most`; waits for something. Ends early with the signal. */
  watch(
    after: number,
    waitMs: number,
    most: number,
    signal: AbortSignal,
  ): Promise<{ readonly next: number; readonly changes: readonly RestingChange[] }>;
}

/** Puts computers to rest though nobody asked for it. Filled by `computers/`. */
export interface Resting {
  /**
   * Wants an awake computer asleep, or a sleeping one stopped, and says whether it does by now. False, and nothing is changed, when
   * somebody uses it, or it is not what `computer` says any more. Who comes before it rests finds it awake.
   */
  rest(computer: Computer, desired: "asleep" | "stopped", cause: Cause): Promise<boolean>;
}

/** What the reconciler tells those who keep track of what runs in a cell. Filled by `work/`. Each may be repeated after a crash. */
export interface CellObserver {
  /** The cell's agent answers; called before the computer counts as awake. Pushes services, reads what became of processes. */
  started(computer: Computer, cellId: string): Promise<void>;
  /** The cell is about to be taken down: ends what runs in it gracefully and reads how it ended. Never throws. */
  stopping(computer: Computer): Promise<void>;
  /** In the transaction that records that the cell is gone. */
  gone(transaction: Transaction, computer: Computer): Promise<void>;
  /** The computer is destroyed: forgets what is kept in memory about it. */
  forget(computerId: string): void;
}
