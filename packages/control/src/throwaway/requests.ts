import { limits } from "@holdfast/contract";
import type { NewId } from "@holdfast/kit";
import type { z } from "zod";
import { type Agent, AgentFault, AgentUnreachable } from "../domain/agents.ts";
import { type TarEntry, tarOf } from "../lib/tar.ts";
import { readTreeTool } from "../lib/tree-tool.ts";
import { collectOutput } from "../work/index.ts";
import { answerOf } from "./answers.ts";
import type { Request } from "./tool/request.ts";

const node = "/usr/local/bin/node";
/** Of its own heap: the smallest computer has a gigabyte, and files pass through. */
const heapMegabytes = 512;
/** All that it may say. One that says more is not ours any more. */
const answerBytes = 16 * 1024 * 1024;
const waitMs = 45_000;
const kill = 9;

/** One run of the tool in a cell. */
export interface Run {
  readonly agent: Agent;
  readonly processId: string;
  /** Waits for its end and reads its answer. Throws what it refused, as the caller's error. */
  answer<S extends z.ZodType>(reply: S): Promise<z.output<S>>;
  /** Ends it if it runs, and takes away what it was given. Never throws. */
  close(): Promise<void>;
}

/**
 * Runs the tool, which is handed to each cell anew: no cell has it of its own, and none can have changed it. It is put into shared memory, so that
 * it is never a part of anybody's disk.
 */
export class Requests {
  readonly #ids: NewId;
  #tool: Promise<readonly TarEntry[]> | undefined;

  constructor(ids: NewId) {
    this.#ids = ids;
  }

  async ask<S extends z.ZodType>(
    agent: Agent,
    request: Request,
    reply: S,
    signal: AbortSignal,
  ): Promise<z.output<S>> {
    const run = await this.start(agent, request, signal);
    try {
      return await run.answer(reply);
    } finally {
      await run.close();
    }
  }

  async start(
    agent: Agent,
    request: Request,
    signal: AbortSignal,
    options: { readonly stdin?: "open" | "closed" } = {},
  ): Promise<Run> {
    const processId = this.#ids("process");
    const folder = `/dev/shm/.holdfast-${processId}`;
    const close = async (): Promise<void> => {
      await ended(agent, processId).catch(() => {});
      await agent.plain("files.delete", { path: folder, recursive: true }).catch(() => {});
    };
    try {
      await this.#hand(agent, folder, request, signal);
      await agent.plain(
        "processes.start",
        {
          id: processId,
          argv: [
            node,
            `--max-old-space-size=${heapMegabytes}`,
            `${folder}/main.ts`,
            `${folder}/request.json`,
          ],
          cwd: "/",
          env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
          user: { uid: 0, gid: 0 },
          stdin: options.stdin ?? "closed",
          // Should control end meanwhile.
          timeout_ms: limits.throwawayMs,
          pty: null,
          output_limit_bytes: 2 * answerBytes,
        },
        { signal },
      );
    } catch (error) {
      await close();
      throw error;
    }
    return { agent, processId, answer: (reply) => readAnswer(agent, processId, reply, signal), close };
  }

  async #hand(agent: Agent, folder: string, request: Request, signal: AbortSignal): Promise<void> {
    const tool = await (this.#tool ??= readTreeTool());
    const asked = { path: "request.json", content: Buffer.from(JSON.stringify(request)), executable: false };
    await agent.plain("files.mkdir", { path: folder, mode: 0o700 }, { signal });
    await agent.upload(
      "tar.import",
      { path: folder, limit_bytes: 64 * 1024 * 1024, limit_entries: 1000 },
      tarOf([...tool, asked]),
      { signal },
    );
  }
}

const readAnswer = async <S extends z.ZodType>(
  agent: Agent,
  id: string,
  reply: S,
  signal: AbortSignal,
): Promise<z.output<S>> => {
  for (;;) {
    const { state, exit } = await agent.plain("processes.get", { id, wait_ms: waitMs }, { waitMs, signal });
    signal.throwIfAborted();
    if (state !== "ended") continue;
    const output = await readOutput(agent, id, signal);
    if (exit?.kind === "exited" && exit.code === 0) return answerOf(output.stdout, reply);
    const how =
      exit?.kind === "exited" ? `with ${exit.code}` : exit?.kind === "signaled" ? `by ${exit.signal}` : "";
    // What it says is for the log: it may name anything.
    throw new Error(
      `the tool that walks trees ended ${how}: ${output.stderr.toString("utf8").slice(0, 4000)}`,
    );
  }
};

const readOutput = async (
  agent: Agent,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly stdout: Buffer; readonly stderr: Buffer }> => {
  const download = await agent.download("output.read", { id, cursor: 0, max_bytes: answerBytes }, { signal });
  const { captured, dropped } = await collectOutput(download, answerBytes);
  if (dropped > 0 || download.head.dropped_bytes > 0)
    throw new AgentUnreachable("the tool that walks trees said more than it may", true);
  return {
    stdout: captured.bytesOf("stdout", captured.total),
    stderr: captured.bytesOf("stderr", captured.total),
  };
};

const ended = async (agent: Agent, id: string): Promise<void> => {
  const { state } = await agent.plain("processes.get", { id });
  if (state !== "ended") await agent.plain("processes.signal", { id, signal: kill, scope: "kill" });
  await agent.plain("processes.forget", { ids: [id] });
};

/** What was fed to the tool was not taken: it has ended, and says why itself. */
export const isEnded = (error: unknown): boolean =>
  error instanceof AgentFault &&
  (error.agentCode === "process_ended" || error.agentCode === "invalid_argument");
