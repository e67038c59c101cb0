import { limits } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import { Loop } from "../lib/loop.ts";
import { pruneRuns } from "../store/run-history.ts";
import {
  getRun,
  giveTurn,
  isActive,
  leftForks,
  listActive,
  forkGone,
  type RunRow,
  stuckSchedules,
} from "../store/runs.ts";
import { lockSchedule, scheduleIds, sweepDeleted } from "../store/schedules.ts";
import type { Claimed } from "./claim.ts";
import { Driver, type DriverParts } from "./driver.ts";
import type { Ended } from "./ending.ts";
import { Lane } from "./lane.ts";
import { Together } from "./together.ts";

/** Runs that are being started at the same time, over all and on one computer; and those that wait for their computer to wake. */
const startingMost = 64;
const startingPerComputer = 8;
const wakingMost = 192;
/** Long waits for ends held open, over all and for one computer. What is beyond is found by looking. */
const watchedMost = 512;
const watchedPerComputer = 32;
/** Runs that wait to be started before no more slots are claimed. */
const crowded = 10_000;
const sweepMs = 5_000;
const gatherMs = 50;
const pageRows = 500;
/** Between two looks at a run that somebody waits for: ends are told, this is for what others end. */
const waitLookMs = 1_000;
/** So many runs of a schedule, and its oldest are let go; and schedules that are looked at together. */
const pruneEvery = 50;
const prunePage = 100;

export interface RunnerParts
  extends Omit<DriverParts, "starts" | "ends" | "starting" | "waking" | "watch" | "uses" | "moved"> {
  readonly nodeId: string;
}

/** Everything that runs because of a schedule, in this control: takes runs up when they are made, and those that others left. */
export class Runner {
  readonly #parts: RunnerParts;
  readonly #driver: DriverParts;
  readonly #abort = new AbortController();
  readonly #driven = new Map<string, { readonly driver: Driver; readonly ended: Promise<void> }>();
  readonly #watched = new Map<string, number>();
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #made = new Map<string, number>();
  #pruned = "";
  readonly #starting = new Lane(startingMost, startingPerComputer);
  readonly #waking = new Lane(wakingMost, wakingMost);
  readonly #reached = new Set<string>();
  /** Each while its run may need its computer: that must not fall asleep under it. */
  readonly #uses = new Map<string, () => void>();
  readonly #sweeps: Loop;
  #watchedOverAll = 0;

  constructor(parts: RunnerParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    // What is asked for soon after a look is looked at together.
    this.#sweeps = new Loop(
      { what: "looking for runs", everyMs: sweepMs, leastMs: gatherMs, clock, logger },
      (signal) => this.#sweep(signal),
    );
    this.#driver = {
      ...parts,
      starts: new Together(parts.store),
      ends: new Together(parts.store),
      starting: this.#starting,
      waking: this.#waking,
      watch: (computerId) => this.#watch(computerId),
      uses: (run, needed) => this.#use(run, needed),
      moved: (ended) => this.#moved(ended),
    };
  }

  start(): void {
    this.#sweeps.start();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#sweeps.stop();
    await Promise.all([...this.#driven.values()].map(({ ended }) => ended));
    for (const done of this.#uses.values()) done();
  }

  /** What the clockwork claimed. Resolves when there is room for more. */
  async takeClaimed({ runs, replaced, held, of }: Claimed): Promise<void> {
    for (const id of of) this.made(id);
    for (const { run, computer } of runs) this.take(run, { computer });
    for (const run of replaced) this.take(run);
    for (const computer of held) this.#wake(computer);
    while (this.#starting.size > crowded && !this.#abort.signal.aborted)
      await this.#parts.clock.sleep(20, this.#abort.signal).catch(() => {});
  }

  /** Drives a run to its end, or lets whoever drives it look again. `fresh`: it was just made, with its computer as it is. */
  take(run: RunRow, fresh?: { readonly computer: Computer }): void {
    const known = this.#driven.get(run.id);
    if (known) return known.driver.poke();
    if (this.#abort.signal.aborted || !isActive(run)) return;
    // It waits for another's end, which gives it its turn.
    if (run.process_id === null && run.cancel_reason === null) return;
    this.#use(run, run.state !== "waiting_to_retry");
    const driver = new Driver(this.#driver, this.#abort.signal, run, fresh);
    const ended = driver.drive().finally(() => this.#driven.delete(run.id));
    this.#driven.set(run.id, { driver, ended });
  }

  /** A run of this schedule was written: from time to time its oldest are let go. */
  made(scheduleId: string): void {
    this.#made.set(scheduleId, (this.#made.get(scheduleId) ?? 0) + 1);
  }

  /** Something was changed that may concern runs: looks at all of them soon. */
  look(): void {
    this.#sweeps.ring();
  }

  /** The run once it has ended, or as it is after `waitMs`. Undefined when there is none any more. Throws the signal's reason. */
  async settled(id: string, waitMs: number, signal: AbortSignal): Promise<RunRow | undefined> {
    const { clock, store } = this.#parts;
    const until = clock.monotonic() + waitMs;
    for (;;) {
      // Before it is read: an end that comes in between is heard.
      const heard = new AbortController();
      const forget = this.#listen(id, () => heard.abort());
      try {
        const run = await getRun(store.db, id);
        const leftMs = until - clock.monotonic();
        if (!run || !isActive(run) || leftMs <= 0) return run;
        await clock
          .sleep(Math.min(leftMs, waitLookMs), AbortSignal.any([heard.signal, signal]))
          .catch(() => signal.throwIfAborted());
      } finally {
        forget();
      }
    }
  }

  /** Now and then: what is too old, and what is left of what was deleted. */
  async clean(): Promise<void> {
    const { db } = this.#parts.store;
    const due = [...this.#made].filter(([, made]) => made >= pruneEvery).map(([id]) => id);
    for (const id of due) this.#made.delete(id);
    // In turn also those whose runs others have made.
    const page = await scheduleIds(db, this.#pruned, prunePage);
    this.#pruned = page.length < prunePage ? "" : (page.at(-1) ?? "");
    due.push(...page);
    for (let at = 0; at < due.length; at += prunePage)
      await pruneRuns(db, due.slice(at, at + prunePage), limits.runsKept);
    await sweepDeleted(db);
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, forks, ids, nodeId } = this.#parts;
    const { db } = store;
    const there = new Set<string>();
    for (let after = ""; !signal.aborted; ) {
      const page = await listActive(db, nodeId, after, pageRows);
      for (const run of page) {
        there.add(run.id);
        this.#takeUp(run);
      }
      after = page.at(-1)?.id ?? "";
      if (page.length < pageRows) break;
    }
    for (const [id, done] of this.#uses)
      if (!there.has(id) && !this.#driven.has(id)) {
        done();
        this.#uses.delete(id);
      }
    for (const scheduleId of await stuckSchedules(db, pageRows)) {
      const run = await store.transaction(async (transaction) =>
        (await lockSchedule(transaction, scheduleId))
          ? giveTurn(transaction, scheduleId, ids("process"))
          : undefined,
      );
      if (run) this.take(run);
    }
    for (const { id, fork_id } of await leftForks(db, pageRows)) {
      if (fork_id === null || this.#driven.has(id)) continue;
      await forks.discard(fork_id);
      await forkGone(db, id, fork_id);
    }
  }

  #takeUp(run: RunRow & { readonly process_ended: boolean }): void {
    const isDriven = this.#driven.has(run.id);
    // Somebody wants its end, and nobody said so here.
    if (isDriven && run.cancel_reason === null && !run.process_ended) return;
    const goesOn = run.state === "running" && run.cancel_reason === null && !run.process_ended;
    // It is found when it has ended.
    if (goesOn && this.#watchedOverAll >= watchedMost) this.#use(run, true);
    else this.take(run);
  }

  #use(run: RunRow, needed: boolean): void {
    const done = this.#uses.get(run.id);
    if (needed && !done) this.#uses.set(run.id, this.#parts.computers.activity.use(run.computer_id));
    if (needed || !done) return;
    done();
    this.#uses.delete(run.id);
  }

  #moved({ run, next }: Ended): void {
    if (run && !isActive(run)) {
      this.#use(run, false);
      for (const hear of this.#waiters.get(run.id) ?? []) hear();
    }
    if (next) this.take(next);
  }

  #watch(computerId: string): (() => void) | undefined {
    const here = this.#watched.get(computerId) ?? 0;
    if (here >= watchedPerComputer || this.#watchedOverAll >= watchedMost) return undefined;
    this.#watched.set(computerId, here + 1);
    this.#watchedOverAll += 1;
    return () => {
      this.#watchedOverAll -= 1;
      const left = (this.#watched.get(computerId) ?? 1) - 1;
      if (left > 0) this.#watched.set(computerId, left);
      else this.#watched.delete(computerId);
    };
  }

  #listen(id: string, hear: () => void): () => void {
    const all = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, all.add(hear));
    return () => {
      all.delete(hear);
      if (all.size === 0) this.#waiters.delete(id);
    };
  }

  /** What goes on there never ends while it sleeps. */
  #wake(computer: Computer): void {
    if (this.#reached.has(computer.id)) return;
    this.#reached.add(computer.id);
    void this.#waking
      .run("", () => this.#parts.computers.reach(computer, this.#abort.signal, "schedule"))
      .catch(() => {})
      .finally(() => this.#reached.delete(computer.id));
  }
}
