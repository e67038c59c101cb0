import type { CrashPoint, NewId } from "@holdfast/kit";
import type { Computer } from "../domain/computer.ts";
import type { Forks } from "../domain/snapshots.ts";
import { getComputer, lockComputer } from "../store/computers.ts";
import { forkGone, type RunRow, setFork } from "../store/runs.ts";
import type { Store } from "../store/transaction.ts";

export interface AsideParts {
  readonly store: Store;
  readonly forks: Forks;
  readonly ids: NewId;
  readonly crashPoint: CrashPoint;
}

/** A fork lives this much longer than what runs in it may take. */
const spareMs = 30 * 60_000;

/** The clean fork that an attempt runs in, made if there is none: run and fork are written together. Undefined when either is gone. */
export const forkFor = async (parts: AsideParts, run: RunRow): Promise<Computer | undefined> => {
  const { store, forks, ids, crashPoint } = parts;
  if (run.fork_id !== null) {
    const there = await getComputer(store.db, run.fork_id);
    return there && there.desiredState !== "destroyed" ? there : undefined;
  }
  crashPoint("run-before-fork");
  const id = ids("computer");
  const made = await store.transaction(async (transaction) => {
    const of = await lockComputer(transaction, run.computer_id);
    if (!of || of.desiredState === "destroyed" || !(await setFork(transaction, run, id))) return undefined;
    return forks.fork(transaction, {
      id,
      of,
      name: run.id.replace("_", "-"),
      description: `A run of ${run.schedule_id}; it is destroyed when that ends`,
      lifetimeMs: (run.definition?.timeout_ms ?? 0) + spareMs,
    });
  });
  crashPoint("run-fork-written");
  return made;
};

/** Gives up the fork of an attempt that has ended, if it has. Again, it does nothing. */
export const letForkGo = async ({ store, forks }: AsideParts, run: RunRow): Promise<RunRow> => {
  const goesOn = run.state === "queued" || run.state === "running";
  if (run.fork_id === null || run.fork_gone || goesOn) return run;
  await forks.discard(run.fork_id);
  await forkGone(store.db, run.id, run.fork_id);
  return { ...run, fork_gone: true };
};
