import type { OperationOutput } from "@holdfast/contract";
import type { HoldfastClient } from "@holdfast/sdk";
import type { Command } from "commander";
import type { App } from "../app.ts";
import type { Override } from "../commands/from-operation.ts";
import { untilInterrupted } from "../commands/until-interrupted.ts";
import { exitCodes, ExitWith, explain } from "../errors.ts";
import { print } from "../present/index.ts";
import { showNamed, withNames } from "../present/names.ts";
import { LogText, shownText } from "../terminal/log-text.ts";

type Run = OperationOutput<"run.get">;

export const runOverrides = {
  "run.list": {
    show: async (app, output) => {
      const { runs, ...page } = output as OperationOutput<"run.list">;
      const shown = await withNames(app, runs, { schedule: "schedule" });
      await print(app, "run.list", { runs: shown, ...page });
    },
  },
  "run.get": { show: showNamed("run.get") },
  "run.output": {
    show: async (app, output) => {
      const part = output as OperationOutput<"run.output">;
      if (part.truncated_bytes > 0) app.console.say(`(${part.truncated_bytes} bytes are no longer kept)`);
      await app.console.out(app.console.stdoutIsTty ? shownText(part.text) : part.text);
      if (part.more) app.console.hint(`There is more: --cursor ${part.next_cursor}`);
    },
  },
} satisfies Readonly<Record<string, Override>>;

/** `runs follow <run>`: what a run prints as it comes, until it ends; its exit code is ours. */
export const addRunFollow = (runs: Command, app: App): void => {
  runs
    .command("follow")
    .summary("Show what a run prints until it ends")
    .description(
      "Prints the output of a run as it comes, over all its attempts, and ends when the run does, with its exit code: 128 + n when signal n ended it, 1 when it failed without one, was skipped or cancelled. Ctrl-C leaves it running; 'runs cancel' ends it.",
    )
    .argument("<run>", "The run's id (run_…)")
    .action((run: string) => followRun(app, run));
};

export const followRun = (app: App, id: string): Promise<void> =>
  untilInterrupted(async (signal) => {
    const client = await app.client();
    const reading = new Reading(app, client, id, signal);
    for (let told = ""; ; ) {
      const run = await client.runs.get({ run: id, wait_ms: lookMs }, { signal });
      await reading.next(run);
      if (run.ended_at !== null) return await ended(app, run, reading);
      const words = waiting[run.state];
      if (words !== undefined && run.state !== told) app.console.say(words);
      told = run.state;
    }
  });

/** The output of one run, attempt after attempt. */
class Reading {
  readonly #app: App;
  readonly #client: HoldfastClient;
  readonly #id: string;
  readonly #signal: AbortSignal;
  readonly #text: LogText | undefined;
  #attempt = 1;
  #cursor = 0;

  constructor(app: App, client: HoldfastClient, id: string, signal: AbortSignal) {
    this.#app = app;
    this.#client = client;
    this.#id = id;
    this.#signal = signal;
    this.#text = app.console.stdoutIsTty && !app.json ? new LogText() : undefined;
  }

  /** What has come since; of a run that waits there is nothing to read. */
  async next(run: Run): Promise<void> {
    if (run.process === null || waiting[run.state] !== undefined) return;
    if (run.attempt !== this.#attempt) {
      this.#attempt = run.attempt;
      this.#cursor = 0;
      this.#app.console.say(`Attempt ${run.attempt}:`);
    }
    for (let more = true; more; ) {
      const part = await this.#read(run);
      if (part === undefined) return;
      if (part.truncated_bytes > 0)
        this.#app.console.say(`(${part.truncated_bytes} bytes are no longer kept)`);
      if (part.text !== "") await this.#write(part.text);
      more = part.more && part.next_cursor > this.#cursor;
      this.#cursor = part.next_cursor;
    }
  }

  async end(): Promise<void> {
    await this.#app.console.out(this.#text?.end() ?? "");
  }

  /** Undefined while it cannot be read: of a run in a fork there is only what is kept at its end. */
  async #read(run: Run): Promise<OperationOutput<"run.output"> | undefined> {
    try {
      return await this.#client.runs.output(
        { run: this.#id, cursor: this.#cursor },
        { signal: this.#signal },
      );
    } catch (error) {
      if (run.ended_at === null && !this.#signal.aborted && explain(error).code === "wrong_state")
        return undefined;
      throw error;
    }
  }

  #write(text: string): Promise<void> {
    const json = (): string => `${JSON.stringify({ type: "output", attempt: this.#attempt, text })}\n`;
    return this.#app.console.out(this.#app.json ? json() : (this.#text?.next(text) ?? text));
  }
}

const ended = async (app: App, run: Run, reading: Reading): Promise<void> => {
  await reading.end();
  if (app.json) await app.console.out(`${JSON.stringify({ type: "end", run })}\n`);
  else if (run.state !== "succeeded")
    app.console.say(
      `The run ${run.state === "failed" ? "failed" : `was ${run.state}`}${run.reason === null ? "" : `: ${run.reason}`}`,
    );
  if (run.state === "succeeded") return;
  throw new ExitWith(codeOf(run));
};

/** A code of 0 with a run that did not succeed (it timed out and ended well, say) is still no success. */
const codeOf = ({ exit }: Run): number => {
  const code = exit?.kind === "exited" ? exit.code : exit?.kind === "signaled" ? 128 + exit.signal : 0;
  return code === 0 ? exitCodes.failed : code;
};

const waiting: Readonly<Record<string, string | undefined>> = {
  queued: "It waits for its turn.",
  waiting_to_retry: "It failed and will be tried again.",
};

/** The longest until what was printed meanwhile is shown. */
const lookMs = 1000;
