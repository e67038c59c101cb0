import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { ProgramPlan } from "./plan.ts";

export interface KeeperPlaces {
  readonly agent: string;
  readonly log: string;
  readonly records: string;
}

/** What the keeper exits with when another one holds the record. */
const alreadyKeptStatus = 75;

export type StartOutcome = "started" | "already running";

/**
 * Starts the keeper of a program and resolves once the program runs (not: is ready). The keeper has its own session and outlives this
 * process. Rejects with what the keeper said when it could not start the program, for example an address in use.
 */
export const startKeeper = (plan: ProgramPlan, places: KeeperPlaces): Promise<StartOutcome> =>
  new Promise((resolve, reject) => {
    const keeper: ChildProcess = spawn(places.agent, keeperArguments(plan, places), {
      cwd: "/",
      env: { ...plan.environment },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    // Before anything else: without a free descriptor it has no pipes, and this is all that comes.
    keeper.once("error", (cause) => reject(new Error(`${places.agent} could not be started`, { cause })));
    let said = "";
    keeper.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      said = (said + chunk).slice(-4000);
    });
    keeper.once("exit", (status) => {
      if (status === alreadyKeptStatus) return resolve("already running");
      reject(new Error(said.trim() || `the keeper of ${plan.name} ended with status ${status}`));
    });
    // Both pipes are let go by the keeper once the program runs, and closed with it otherwise: `exit` then comes first or second.
    keeper.stdout?.resume().once("close", () => {
      const pid = keeper.pid;
      setImmediate(() => {
        if (keeper.exitCode === null && keeper.signalCode === null && pid !== undefined) resolve("started");
      });
    });
    keeper.unref();
  });

/** The arguments of `holdfast-agent host program`. */
export const keeperArguments = (plan: ProgramPlan, places: KeeperPlaces): readonly string[] => [
  "host",
  "program",
  ...plan.sockets.flatMap((socket) =>
    socket.kind === "tcp"
      ? ["--listen-tcp", socket.address]
      : ["--listen", `${socket.path}:${socket.gid}:${socket.mode.toString(8)}`],
  ),
  ...(plan.user ? ["--user", `${plan.user.uid}:${plan.user.gid}`, "--no-new-privs"] : []),
  "--record",
  recordPath(places, plan.name),
  "--label",
  plan.label,
  "--log",
  join(places.log, `${plan.name}.log`),
  "--",
  ...plan.argv,
];

export const recordPath = (places: { readonly records: string }, program: string): string =>
  join(places.records, `${program}.json`);
