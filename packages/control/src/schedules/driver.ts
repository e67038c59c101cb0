import { type AgentProcessState, HoldfastError } from "@holdfast/contract";
import type { Logger } from "@holdfast/kit";
import { AgentFault, AgentUnreachable } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import { getComputer } from "../store/computers.ts";
import { getProcessById, type ProcessRow } from "../store/processes.ts";
import { beginRetry, getRun, isActive, type RunEnd, type RunRow } from "../store/runs.ts";
import { withAgent } from "../work/index.ts";
import { type AsideParts, forkFor, letForkGo } from "./aside.ts";
import { endProcess, readTail, specOf, verdictOn } from "./attempt.ts";
import { endAttempt, type Ended, endOf } from "./ending.ts";
import { handOver, type HandingParts } from "./handing.ts";
import type { Lane } from "./lane.ts";

/** How long a run waits for a computer that cannot be reached, or for a host that has no room. */
const patienceMs = 15 * 60_000;
const firstRetryMs = 500;
const longestRetryMs = 15_000;
/** Waits are cut into such pieces: a wall clock may be set meanwhile. */
const longestSleepMs = 10_000;
const endWaitMs = 50_000;

export interface DriverParts extends HandingParts, AsideParts {
  readonly logger: Logger;
  /** Runs that are started, and those whose computer is woken for them, at the same time. */
  readonly starting: Lane;
  readonly waking: Lane;
  /** A place for the long wait for an end; undefined when all are taken. Give it back. */
  readonly watch: (computerId: string) => (() => void) | undefined;
  /** Whether the run needs its computer from now on: one that is needed does not fall asleep. */
  readonly uses: (run: RunRow, needed: boolean) => void;
  /** Tells those who wait for the run, and takes the one whose turn it is. */
  readonly moved: (ended: Ended) => void;
}

/** What happens to a run from its turn to its end. May be cut off at any line and begun again by another control. */
export class Driver {
  readonly #parts: DriverParts;
  readonly #stopping: AbortSignal;
  #run: RunRow;
  /** Known from when the run was made; later it is read. */
  #computer: Computer | undefined;
  /** Whether its process surely was never handed to a computer. */
  #unhanded: boolean;
  #poke = new AbortController();
  #sinceMs: number;
  /** Whether the computer it is a run of was unpacked for it. */
  #unpacked = false;
  /** What it was handed to just now: the first look at it asks nobody again. */
  #handed: { readonly computer: Computer; readonly row: ProcessRow } | undefined;

  constructor(
    parts: DriverParts,
    stopping: AbortSignal,
    run: RunRow,
    fresh: { readonly computer: Computer } | undefined,
  ) {
    this.#parts = parts;
    this.#stopping = stopping;
    this.#run = run;
    this.#computer = fresh?.computer;
    this.#unhanded = fresh !== undefined;
    this.#sinceMs = parts.clock.monotonic();
  }

  /** Something about the run has changed: whatever it waits for, it looks again. */
  poke(): void {
    this.#poke.abort();
  }

  /** Until it has ended, or nothing can be done about it now. */
  async drive(): Promise<void> {
    const { clock, logger, store } = this.#parts;
    for (let failures = 0; isActive(this.#run) && !this.#stopping.aborted; ) {
      try {
        if (this.#poke.signal.aborted) await this.#reread();
        if (!isActive(this.#run) || !(await this.#step())) return;
        failures = 0;
      } catch (error) {
        if (this.#stopping.aborted) return;
        failures += 1;
        if (failures === 1 && !(error instanceof HoldfastError))
          logger.warn("a run does not go on yet", { run: this.#run.id, error });
        await this.#sleep(Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(10, failures - 1)));
        const now = await getRun(store.db, this.#run.id).catch(() => this.#run);
        if (!now) return;
        this.#run = now;
        if (failures > 1 && now.state === "queued" && clock.monotonic() - this.#sinceMs > patienceMs)
          await this.#endUnstarted(error).catch(() => {});
      }
    }
  }

  /** False: there is nothing to do for now. */
  #step(): Promise<boolean> {
    const run = this.#run;
    if (run.state === "waiting_to_retry") return this.#awaitRetry();
    if (run.state === "running") return this.#follow();
    return run.process_id === null ? this.#awaitTurn() : this.#begin({ ...run, process_id: run.process_id });
  }

  async #awaitTurn(): Promise<boolean> {
    if (this.#run.cancel_reason === null) return false;
    await this.#end(this.#unstarted("it was cancelled"));
    return true;
  }

  async #awaitRetry(): Promise<boolean> {
    const { clock, store, ids } = this.#parts;
    const run = this.#run;
    if (run.cancel_reason !== null) {
      await this.#end(this.#unstarted("it was cancelled"));
      return true;
    }
    this.#run = await letForkGo(this.#parts, run);
    this.#parts.uses(run, false);
    const waitMs = (run.retry_at_ms ?? 0) - clock.now();
    if (waitMs > 0) await this.#sleep(Math.min(waitMs, longestSleepMs));
    else {
      this.#sinceMs = clock.monotonic();
      const begun = await beginRetry(store.db, run, ids("process"));
      if (begun) {
        this.#run = begun;
        this.#unhanded = true;
        this.#parts.uses(begun, true);
      } else await this.#reread();
    }
    return true;
  }

  async #begin(run: RunRow & { readonly process_id: string }): Promise<boolean> {
    const { definition } = run;
    if (definition === null) throw new Error("a run that has not ended says what it runs");
    if (run.cancel_reason !== null && !(await this.#mayRun(run))) {
      await this.#end(this.#unstarted("it was cancelled"));
      return true;
    }
    let computer: Computer | undefined;
    try {
      computer = await this.#place(run);
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === "ceiling_reached")) throw error;
      await this.#end(this.#unstarted(error.message));
      return true;
    }
    if (!computer) return this.#goneWith();
    const { waking, starting } = this.#parts;
    const isAwake = computer.state === "awake" && computer.desiredState === "awake";
    try {
      const awake = isAwake ? computer : await waking.run("", () => this.#reach(computer));
      if (this.#poke.signal.aborted) return true;
      const owner = await this.#owner();
      this.#unhanded = false;
      const woke = this.#unpacked ? "archived" : isAwake ? null : wokeFrom(computer.state);
      const where = { computer: awake, woke, owner } as const;
      const { on, started } = await starting.run(computer.id, () =>
        handOver(this.#parts, run, specOf(run, definition, awake), where, this.#stopping),
      );
      if (started) {
        this.#run = started.run;
        this.#handed = { computer: on, row: started.row };
      } else await this.#notWanted(on, run.process_id);
      return true;
    } catch (error) {
      this.#computer = undefined;
      if (this.#stopping.aborted || verdictOn(error) === "later") throw error;
      await this.#end(this.#unstarted(messageOf(error)));
      return true;
    }
  }

  /** Of a run that is not wanted any more: whether another control may have handed its process over. Its computer knows. */
  async #mayRun(run: RunRow & { readonly process_id: string }): Promise<boolean> {
    if (this.#unhanded || (run.definition?.place === "fork" && run.fork_id === null)) return false;
    const computer = await getComputer(this.#parts.store.db, run.fork_id ?? run.computer_id);
    if (!computer || computer.desiredState === "destroyed") return false;
    return withAgent(this.#parts, computer, this.#stopping, async (agent) => {
      try {
        await agent.plain("processes.get", { id: run.process_id, wait_ms: 0 }, { signal: this.#stopping });
        return true;
      } catch (error) {
        if (error instanceof AgentFault && error.agentCode === "not_found") return false;
        throw error;
      }
    });
  }

  async #reach(computer: Computer): Promise<Computer> {
    return this.#parts.computers.reach(
      computer,
      AbortSignal.any([this.#stopping, this.#poke.signal]),
      "schedule",
    );
  }

  /** Waits for the end of what runs; ends it when that is wanted. */
  async #follow(): Promise<boolean> {
    const { store, agents, computers } = this.#parts;
    const run = this.#run;
    const processId = run.process_id ?? "";
    const handed = this.#handed;
    this.#handed = undefined;
    const [row, computer] = handed
      ? [handed.row, handed.computer]
      : await Promise.all([
          getProcessById(store.db, processId),
          getComputer(store.db, run.fork_id ?? run.computer_id),
        ]);
    if (!computer || computer.desiredState === "destroyed") return this.#goneWith();
    if (!row) throw new Error("a run that goes on has a process");
    if (row.state === "ended") {
      await this.#endedAs(computer, row);
      return true;
    }
    if (computer.cellId === null && row.cell_id !== null) {
      // What it ran in is over.
      await store.transaction((transaction) => this.#parts.keeper.lost(transaction, computer, row));
      return true;
    }
    if (run.cancel_reason !== null)
      await withAgent(this.#parts, computer, this.#stopping, (agent) =>
        endProcess(agent, processId, this.#stopping),
      );
    else if (computer.state !== "awake") {
      // Somebody put it to sleep: that stands until somebody or the next slot wakes it.
      await this.#sleep(longestSleepMs);
      return true;
    }
    const unwatch = this.#parts.watch(computer.id);
    if (!unwatch) return false;
    const done = computers.activity.use(computer.id);
    try {
      const signal = AbortSignal.any([this.#stopping, this.#poke.signal]);
      const state = await agents
        .of(computer.id)
        .plain("processes.get", { id: processId, wait_ms: endWaitMs }, { waitMs: endWaitMs, signal });
      if (state.state === "ended") await this.#ended(computer, row, state);
    } catch (error) {
      if (this.#poke.signal.aborted && !this.#stopping.aborted) return true;
      if (!(error instanceof AgentUnreachable) && !(error instanceof AgentFault)) throw error;
      // Its cell sleeps or is gone; what became of the process is found when the computer is looked at.
      await this.#sleep(firstRetryMs * 2);
    } finally {
      unwatch();
      done();
    }
    return true;
  }

  async #ended(on: Computer, row: ProcessRow, state: AgentProcessState): Promise<void> {
    const seen = {
      exit: state.exit ?? ({ kind: "lost" } as const),
      timedOut: state.timed_out,
      outOfMemory: state.out_of_memory,
      outputBytes: state.output_bytes,
    };
    await this.#end(await this.#endOf(on, state.id, seen), { computer: on, row, state });
  }

  /** Its process was found ended by somebody else. */
  async #endedAs(on: Computer, row: ProcessRow): Promise<void> {
    const seen = {
      exit: row.exit ?? ({ kind: "lost" } as const),
      timedOut: row.timed_out,
      outOfMemory: row.out_of_memory,
      outputBytes: row.output_bytes,
    };
    await this.#end(await this.#endOf(on, row.id, seen));
  }

  async #endOf(on: Computer, processId: string, seen: Parameters<typeof endOf>[1]): Promise<RunEnd> {
    const { agents, clock } = this.#parts;
    const kept =
      this.#run.fork_id === null || seen.outputBytes === 0
        ? null
        : await readTail(agents, on.id, { id: processId, outputBytes: seen.outputBytes }, this.#stopping);
    return endOf(this.#run, seen, kept, clock.now());
  }

  #unstarted(refusal: string): RunEnd {
    const seen = { exit: null, timedOut: false, outOfMemory: false, outputBytes: 0, refusal };
    return endOf(this.#run, seen, null, this.#parts.clock.now());
  }

  async #endUnstarted(error: unknown): Promise<void> {
    await this.#end(
      this.#unstarted(`it was not started within ${patienceMs / 60_000} minutes: ${messageOf(error)}`),
    );
  }

  /** The computer is gone, and the run's rows go with it or have nothing more to tell. */
  async #goneWith(): Promise<boolean> {
    await this.#end(this.#unstarted("its computer was destroyed"));
    return true;
  }

  async #end(end: RunEnd, seen?: Parameters<typeof endAttempt>[4]): Promise<void> {
    const ended = await endAttempt(this.#parts, this.#run, end, await this.#owner(), seen);
    if (ended.run) this.#run = ended.run;
    else await this.#reread();
    // What is left is looked for from time to time.
    const now = this.#run;
    this.#run = await letForkGo(this.#parts, now).catch(() => now);
    this.#parts.moved({ ...ended, run: this.#run });
  }

  /** Where the attempt runs. Undefined when that is gone. */
  async #place(run: RunRow): Promise<Computer | undefined> {
    const { store } = this.#parts;
    if (run.definition?.place === "fork") {
      if (run.fork_id === null) await this.#unpack(run);
      const fork = await forkFor(this.#parts, run);
      if (fork) this.#run = { ...this.#run, fork_id: fork.id };
      return fork;
    }
    const computer = this.#computer ?? (await getComputer(store.db, run.computer_id));
    return computer && computer.desiredState !== "destroyed" ? computer : undefined;
  }

  /** There is nothing to fork of a computer while it is packed. */
  async #unpack(run: RunRow): Promise<void> {
    const computer = await getComputer(this.#parts.store.db, run.computer_id);
    const isPacked = computer?.state === "archived" || computer?.desiredState === "archived";
    if (!computer || computer.desiredState === "destroyed" || !isPacked) return;
    await this.#parts.waking.run("", () => this.#reach(computer));
    this.#unpacked = computer.state === "archived";
  }

  /** The process was handed over while the run was ended by others. */
  async #notWanted(on: Computer, processId: string): Promise<void> {
    await withAgent(this.#parts, on, this.#stopping, (agent) => endProcess(agent, processId, this.#stopping));
    await this.#reread();
  }

  async #owner(): Promise<string> {
    this.#computer ??= await getComputer(this.#parts.store.db, this.#run.computer_id);
    return this.#computer?.principalId ?? this.#run.principal_id;
  }

  async #reread(): Promise<void> {
    this.#poke = new AbortController();
    const now = await getRun(this.#parts.store.db, this.#run.id);
    // Its schedule is gone, and it with that.
    this.#run = now ?? { ...this.#run, state: "cancelled" };
  }

  async #sleep(ms: number): Promise<void> {
    await this.#parts.clock.sleep(ms, AbortSignal.any([this.#stopping, this.#poke.signal])).catch(() => {});
  }
}

const wokeFrom = (before: Computer["state"]): RunRow["woke"] =>
  before === "asleep" || before === "stopped" || before === "archived" ? before : null;

const messageOf = (error: unknown): string =>
  error instanceof HoldfastError ? error.message : "an unexpected failure; its cause is in the log";
