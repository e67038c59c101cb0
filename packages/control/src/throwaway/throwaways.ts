import { HoldfastError, limits, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RpcClient, RpcParams } from "@holdfast/kit";
import type { SocketAgents } from "../agents/index.ts";
import type { Agent } from "../domain/agents.ts";
import { orAborted } from "../lib/abort.ts";
import { FewAtOnce } from "../lib/few-at-once.ts";
import { Loop } from "../lib/loop.ts";
import { deleteThrowaway, insertThrowaway, listThrowaways } from "../store/throwaways.ts";
import type { Database } from "../store/transaction.ts";

export interface ThrowawayParts {
  readonly db: Database;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly agents: Pick<SocketAgents, "of" | "forget">;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
}

export interface Job {
  /** For people who look what is going on. */
  readonly purpose: string;
  readonly trees: NonNullable<RpcParams<SupervisorMethods, "cell.start">["trees"]>;
}

export interface Throwaway {
  readonly agent: Agent;
  /** Aborts when whoever asked has gone, when it takes too long, or when its cell has ended. */
  readonly signal: AbortSignal;
  /** Ends it, whatever runs in it. Resolves when nothing of it is left, or when that is left to the next sweep. Never throws. */
  close(): Promise<void>;
}

/** Wait for one that others use. */
const waiting = 32;
/** Leftovers of a control that ended are looked for this often. */
const sweepEveryMs = 10_000;
const sweepMost = 100;
const destroyMs = 120_000;

/**
 * Cells that belong to nobody: made for one job on a stranger's files and destroyed after it, whatever became of it. What they are given
 * they can only read. A row says that one may be there; it goes after the last trace on the host has.
 */
export class Throwaways {
  readonly #parts: ThrowawayParts;
  readonly #few: FewAtOnce;
  readonly #mine = new Set<string>();
  readonly #open = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #sweeps: Loop;

  constructor(parts: ThrowawayParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#sweeps = new Loop(
      { what: "looking for throwaway cells that were left", everyMs: sweepEveryMs, clock, logger },
      (signal) => this.#sweep(signal),
    );
    const refusal = (): HoldfastError =>
      new HoldfastError("limit_reached", "too many wait for a throwaway cell; try again later", {
        limit: limits.throwaways,
      });
    this.#few = new FewAtOnce({ atOnce: limits.throwaways, waiting }, refusal);
  }

  start(): void {
    this.#sweeps.start();
  }

  /** Whoever uses one is told to end by its signal. */
  async stop(): Promise<void> {
    this.#stopping.abort(new HoldfastError("unavailable", "control is being stopped"));
    await Promise.all([this.#sweeps.stop(), ...this.#open]);
  }

  /** Throws `host_full`, `limit_reached`, `unavailable`, `timed_out`, the signal's reason, and what `work` throws. */
  async run<T>(job: Job, work: (throwaway: Throwaway) => Promise<T>, signal: AbortSignal): Promise<T> {
    const throwaway = await this.open(job, signal);
    try {
      return await work(throwaway);
    } finally {
      await throwaway.close();
    }
  }

  /** As `run`, for who closes it. */
  open(job: Job, signal: AbortSignal): Promise<Throwaway> {
    const { promise, resolve, reject } = Promise.withResolvers<Throwaway>();
    const gone = Promise.withResolvers<void>();
    this.#open.add(gone.promise);
    // Its turn lasts until it is closed.
    this.#few
      .run(() => this.#turn(job, signal, resolve, gone.promise))
      .catch(reject)
      .finally(() => {
        this.#open.delete(gone.promise);
        gone.resolve();
      });
    return promise;
  }

  async #turn(
    job: Job,
    signal: AbortSignal,
    give: (throwaway: Throwaway) => void,
    gone: Promise<void>,
  ): Promise<void> {
    const { agents, ids, clock } = this.#parts;
    const id = ids("computer");
    const ending = new AbortController();
    const over = AbortSignal.any([signal, this.#stopping.signal, ending.signal]);
    over.throwIfAborted();
    const late = new HoldfastError("timed_out", `${job.purpose} took longer than it may`, {
      limit: limits.throwawayMs,
    });
    const cancel = clock.after(limits.throwawayMs, () => ending.abort(late));
    this.#mine.add(id);
    try {
      const cellId = await this.#make(id, job);
      over.throwIfAborted();
      const lease = this.#keepLease(id, cellId, ending);
      const closed = Promise.withResolvers<void>();
      const close = (): Promise<void> => {
        closed.resolve();
        return gone;
      };
      give({ agent: agents.of(id), signal: over, close });
      await closed.promise;
      ending.abort();
      await lease;
    } finally {
      cancel();
      await this.#destroy(id);
    }
  }

  async #make(id: string, { purpose, trees }: Job): Promise<string> {
    const { db, supervisor, clock, crashPoint, nodeId } = this.#parts;
    await insertThrowaway(db, { computerId: id, nodeId, purpose, nowMs: clock.now() });
    crashPoint("throwaway-recorded");
    await supervisor.call("volume.create", { computer_id: id, size: "small" });
    crashPoint("throwaway-volume");
    const { cell } = await supervisor.call("cell.start", {
      computer_id: id,
      size: "small",
      lease_ms: limits.leaseMs,
      trees,
    });
    crashPoint("throwaway-started");
    return cell.cell_id;
  }

  async #keepLease(id: string, cellId: string, ending: AbortController): Promise<void> {
    const { supervisor, clock } = this.#parts;
    while (!ending.signal.aborted) {
      await clock.sleep(limits.leaseRenewMs, ending.signal).catch(() => {});
      if (ending.signal.aborted) return;
      const cells = [{ computer_id: id, cell_id: cellId }];
      const renewed = await supervisor
        .call("lease.renew", { cells, lease_ms: limits.leaseMs })
        .catch(() => undefined);
      if (renewed?.missing.includes(cellId))
        ending.abort(new HoldfastError("cell_unreachable", "the throwaway cell has ended"));
    }
  }

  async #destroy(id: string): Promise<void> {
    const { db, supervisor, agents, logger, crashPoint } = this.#parts;
    try {
      await supervisor.call("volume.destroy", { computer_id: id }, { timeoutMs: destroyMs });
      crashPoint("throwaway-destroyed");
      await deleteThrowaway(db, id);
    } catch (error) {
      logger.warn("a throwaway cell is destroyed later", { computer: id, error });
    } finally {
      agents.forget(id);
      this.#mine.delete(id);
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { db, nodeId } = this.#parts;
    for (const { computerId } of await listThrowaways(db, nodeId, sweepMost)) {
      if (this.#mine.has(computerId)) continue;
      if ((await orAborted(this.#destroy(computerId), signal)) === "aborted") return;
    }
  }
}
