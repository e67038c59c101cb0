import { limits, type SupervisorMethods } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import { Loop } from "../lib/loop.ts";
import { listLiving } from "../store/computers.ts";
import type { Database } from "../store/transaction.ts";
import type { ComputerActivity } from "./activity.ts";
import { decide } from "./decide.ts";
import { awayDelay } from "./failures.ts";
import type { Reconciler } from "./reconciler.ts";

/** Everything is compared this often, whatever was heard: events are hints. */
const sweepEveryMs = 10_000;
/** While the supervisor is away: a refused connection costs nothing, and people wait for the first that is taken. */
const awayRetryMs = 50;
/** On a host that stays broken it is asked less and less often: after a tenth of the time that it has been away, at most this. */
const awayRetryMostMs = 1_000;
const pageRows = 500;

export interface WatchParts {
  readonly db: Database;
  readonly nodeId: string;
  readonly supervisor: RpcClient<SupervisorMethods>;
  readonly reconciler: Reconciler;
  readonly activity: Pick<ComputerActivity, "leave">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Finds what the reconciler has to do: by comparing everything at start and from time to time, and by the supervisor's events. Renews leases. */
export class Watch {
  readonly #parts: WatchParts;
  readonly #abort = new AbortController();
  readonly #loops: readonly Loop[];
  #swept = false;
  #away: string | undefined = "the supervisor has not answered yet";

  constructor(parts: WatchParts) {
    const { clock, logger } = parts;
    const often = { retryMs: awayDelay, clock, logger };
    this.#parts = parts;
    this.#loops = [
      new Loop({ ...often, what: "comparing computers", everyMs: sweepEveryMs }, () => this.#sweep()),
      new Loop({ ...often, what: "renewing leases", everyMs: limits.leaseRenewMs }, () => this.#renew()),
    ];
  }

  start(): void {
    for (const loop of this.#loops) loop.start();
    // Not waited for at the end: it hangs on the supervisor's answer, and returns when that connection is closed.
    void this.#events();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  /** Undefined once everything was compared and while the supervisor answers. */
  notReady(): string | undefined {
    return this.#swept ? this.#away : (this.#away ?? "computers have not been compared yet");
  }

  async #sweep(): Promise<void> {
    const { activity, supervisor, reconciler } = this.#parts;
    const { cells } = await supervisor.call("cell.list", {});
    this.#away = undefined;
    const byComputer = new Map(cells.map((cell) => [cell.computer_id, cell]));
    for await (const computer of this.#living()) {
      // As this control has not put it to sleep itself.
      if (!this.#swept && computer.state === "asleep") activity.leave(computer.id);
      if (decide(computer, byComputer.get(computer.id) ?? "none") !== "none")
        reconciler.nudge(computer.id, { verify: true });
    }
    this.#swept = true;
  }

  /** A cell whose lease ends is frozen, so that nothing runs on unwatched while control is away. */
  async #renew(): Promise<void> {
    const { supervisor, reconciler } = this.#parts;
    let batch: { computer_id: string; cell_id: string }[] = [];
    const send = async (): Promise<void> => {
      if (batch.length === 0) return;
      const { missing } = await supervisor.call("lease.renew", { cells: batch, lease_ms: limits.leaseMs });
      for (const { computer_id, cell_id } of batch)
        if (missing.includes(cell_id)) reconciler.nudge(computer_id, { verify: true });
      batch = [];
    };
    for await (const computer of this.#living()) {
      // One that is being filled runs before it counts as awake.
      if (!(computer.state === "awake" || computer.filling) || computer.cellId === null) continue;
      batch.push({ computer_id: computer.id, cell_id: computer.cellId });
      if (batch.length === 1000) await send();
    }
    await send();
  }

  async #events(): Promise<void> {
    const { supervisor, reconciler, clock, logger } = this.#parts;
    const { signal } = this.#abort;
    let after = 0;
    let awaySince: number | undefined;
    while (!signal.aborted) {
      try {
        const { next, events } = await supervisor.call(
          "events.wait",
          { after, wait_ms: 25_000 },
          { timeoutMs: 35_000 },
        );
        this.#away = undefined;
        awaySince = undefined;
        after = next;
        for (const event of events)
          if (event.kind !== "started") reconciler.nudge(event.computer_id, { verify: true });
      } catch (error) {
        if (signal.aborted) return;
        if (this.#away === undefined) logger.warn("the supervisor does not answer", { error });
        this.#away = "the supervisor does not answer";
        awaySince ??= clock.monotonic();
        const waitMs = Math.max(awayRetryMs, (clock.monotonic() - awaySince) / 10);
        await clock.sleep(Math.min(awayRetryMostMs, waitMs), signal).catch(() => {});
        // It may have been restarted, and counts from the beginning again.
        after = 0;
        await this.#sweep().then(
          () => {
            this.#away = undefined;
            reconciler.hurry();
          },
          () => {},
        );
      }
    }
  }

  async *#living(): AsyncGenerator<Computer> {
    for (let after = ""; ; ) {
      const page = await listLiving(this.#parts.db, this.#parts.nodeId, after, pageRows);
      yield* page;
      after = page.at(-1)?.id ?? "";
      if (page.length < pageRows) return;
    }
  }
}
