import { HoldfastError, limits } from "@holdfast/contract";
import type { NewId } from "@holdfast/kit";
import { type Agent, AgentFault } from "../domain/agents.ts";
import type { Computer } from "../domain/computer.ts";
import { type CellParts, collectOutput, withAgent } from "../work/index.ts";

/** A repository inside a computer. */
export interface GitPlace {
  readonly computer: Computer;
  /** Work tree, absolute; the repository is `.git` in it. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

export interface GitOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** What of its output is read. More is a failure, and git is ended. */
  readonly mostBytes?: number;
  /** More is left out instead (`cut`). */
  readonly mayBeCut?: boolean;
  /** Exit codes that are answers. Default: 0. */
  readonly answers?: readonly number[];
}

export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly cut: boolean;
  /** Both of its streams, for people. */
  readonly said: string;
}

/** Throws `git_failed` with what git said, or what kept it from being started. */
export type Git = (place: GitPlace, args: readonly string[], options?: GitOptions) => Promise<GitAnswer>;

/**
 * Runs git, and nothing else, inside the cell. Repository, configuration and git itself are the cell's: they can harm the cell alone, and
 * what they answer is believed by nobody here. What the repository's configuration could have run beside git is turned off all the same, so that
 * a deploy does what it says.
 */
export const createGit =
  (parts: CellParts & { readonly ids: NewId }): Git =>
  async (place, args, options = {}) => {
    const id = parts.ids("process");
    const mostBytes = options.mostBytes ?? shortBytes;
    const ran = await withAgent(
      parts,
      place.computer,
      place.signal,
      (agent) => run(agent, id, place, args, { ...options, mostBytes }),
      // The id is run at most once in one cell, so asking again answers the same run.
      { repeatable: true },
    );
    const answers = options.answers ?? [0];
    if (ran.cut && options.mayBeCut === true)
      return { exitCode: 0, stdout: ran.stdout, cut: true, said: ran.said };
    if (ran.exitCode === null || ran.timedOut || ran.cut || !answers.includes(ran.exitCode))
      throw failed(args, ran);
    return { exitCode: ran.exitCode, stdout: ran.stdout, cut: false, said: ran.said };
  };

/** Enough for a commit id and what git says beside it. */
const shortBytes = 64 * 1024;
const shownBytes = 4000;
const kill = 9;
const terminate = 15;

const safe: readonly string[] = [
  "--no-pager",
  ...[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "safe.directory=*",
    "protocol.ext.allow=never",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "color.ui=false",
    "log.showSignature=false",
    "fetch.fsckObjects=true",
    "submodule.recurse=false",
  ].flatMap((setting) => ["-c", setting]),
];

const environmentOf = (folder: string): Readonly<Record<string, string>> => ({
  // Said outright, so that no setting in the repository leads elsewhere and nothing above the folder is taken for it.
  GIT_DIR: `${folder}/.git`,
  GIT_WORK_TREE: folder,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ALLOW_PROTOCOL: "file",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_EDITOR: "true",
  LC_ALL: "C.UTF-8",
  TZ: "UTC",
});

interface Ran {
  /** Null: it was ended by a signal, or nobody knows how. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly stdout: Buffer;
  readonly cut: boolean;
  readonly said: string;
}

const run = async (
  agent: Agent,
  id: string,
  { folder, signal }: GitPlace,
  args: readonly string[],
  options: GitOptions & { readonly mostBytes: number },
): Promise<Ran> => {
  try {
    const download = await agent.download(
      "processes.run",
      {
        id,
        argv: ["git", ...safe, ...args],
        cwd: folder,
        env: { ...environmentOf(folder), ...options.environment },
        user: { uid: 0, gid: 0 },
        stdin: "closed",
        // Should control end meanwhile.
        timeout_ms: 2 * limits.gitMs,
        pty: null,
        output_limit_bytes: options.mostBytes + shortBytes,
        wait_ms: limits.gitMs,
        max_output_bytes: options.mostBytes,
      },
      { waitMs: limits.gitMs, signal },
    );
    const { captured } = await collectOutput(download, options.mostBytes);
    const { process, next_cursor, dropped_bytes } = download.head;
    const ended = process.state === "ended";
    await (ended ? forget(agent, id) : end(agent, id));
    const cut = dropped_bytes > 0 || next_cursor < process.output_bytes;
    const stream = (name: "stdout" | "stderr"): Buffer => captured.bytesOf(name, captured.total);
    if (process.exit?.kind === "lost")
      throw new HoldfastError("cell_unreachable", "the computer ended while git ran in it");
    return {
      exitCode: process.exit?.kind === "exited" ? process.exit.code : null,
      timedOut: !ended && !cut,
      stdout: stream("stdout"),
      cut,
      said: shown(Buffer.concat([stream("stderr"), stream("stdout")])),
    };
  } catch (error) {
    // After a lost connection it is asked for again, and goes on.
    if (signal.aborted) void end(agent, id);
    if (error instanceof AgentFault && error.details["reason"] === "bad_working_directory")
      throw new HoldfastError("git_failed", `the project's folder ${folder} is gone`, { output: "" });
    throw error;
  }
};

/**
 * Of one that nobody waits for any more. Asked to end, git takes its lock files with it; a kill would leave them in everybody's way. What
 * cannot be done is left to the agent's own limits.
 */
const end = async (agent: Agent, id: string): Promise<void> => {
  try {
    await agent.plain("processes.signal", { id, signal: terminate, scope: "all" });
    const { state } = await agent.plain("processes.get", { id, wait_ms: graceMs }, { waitMs: graceMs });
    if (state !== "ended") await agent.plain("processes.signal", { id, signal: kill, scope: "kill" });
  } catch {
    // It has ended by itself, or its computer has.
  }
  await forget(agent, id);
};

/** It is no process of the caller's: nobody will read it. What stays is forgotten with the oldest. */
const forget = async (agent: Agent, id: string): Promise<void> => {
  await agent.plain("processes.forget", { ids: [id] }).catch(() => {});
};

const graceMs = 2000;

const failed = (args: readonly string[], ran: Ran): HoldfastError => {
  const why = ran.timedOut
    ? `took longer than ${limits.gitMs / 1000} s`
    : ran.cut
      ? "said more than is read"
      : `said: ${ran.said.split("\n", 1)[0] || "nothing"}`;
  return new HoldfastError("git_failed", `git ${args[0] ?? ""} ${why}`, {
    command: ["git", ...args].join(" ").slice(0, 300),
    exit_code: ran.exitCode,
    output: ran.said,
  });
};

/** Text from the cell: without what a terminal would obey, and short. */
const shown = (bytes: Buffer): string =>
  bytes
    .subarray(0, shownBytes)
    .toString("utf8")
    .replaceAll(/[^\P{C}\n\t]/gu, " ")
    .trim();
