import { type HoldfastClient, HoldfastApiError, HoldfastConnectionError } from "@holdfast/sdk";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { exitCodes, ExitWith, explain } from "../errors.ts";
import { pauseUntil, startStopwatch, within } from "../lib/time.ts";
import { Collector, type Seen } from "./collect.ts";
import { pageOf } from "./page.ts";
import { tableOf } from "./frame.ts";
import { Screen } from "./screen.ts";

/** `top`: everything there is and how it does, again and again; once where nobody looks. */
export const addTop = (program: Command, app: App): void => {
  program
    .command("top")
    .summary("Watch computers, projects, services and schedules")
    .description(
      "Shows computers with what they use of their limits, and under each its projects, services and schedules, anew every 2 seconds. Arrow keys scroll, q ends. In a pipe, with --once or --json it prints one table and ends.",
    )
    .option("--once", "Print it once and end")
    .action(async (values: { once?: boolean }) => {
      const client = await app.client();
      if (app.json || values.once === true || !app.console.stdoutIsTty) return once(app, client);
      const { name, context } = await app.context();
      await watch(app, client, `${name} at ${context.url}`);
    });
};

/** CPU is a difference: it is measured twice. */
const once = async (app: App, client: HoldfastClient): Promise<void> => {
  const collector = new Collector(client, startStopwatch());
  const signal = new AbortController().signal;
  await collector.collect(closelyOnce, signal);
  await pauseUntil(1000, signal);
  const seen = await collector.collect(closelyOnce, signal);
  if (app.json) {
    const computers = seen.map(({ computer, cpuShare, ...more }) => ({
      ...computer,
      cpu_share: cpuShare,
      ...more,
    }));
    return app.console.out(`${JSON.stringify({ computers })}\n`);
  }
  if (seen.length === 0) return app.console.say("No computers. Make one: holdfast computers create <name>");
  const paper = { now: app.now(), width: app.console.width, color: app.console.stdoutColor };
  await app.console.out(
    tableOf(seen, paper)
      .map((line) => `${line}\n`)
      .join(""),
  );
};

const watch = async (app: App, client: HoldfastClient, place: string): Promise<void> => {
  const stop = new AbortController();
  const collector = new Collector(client, startStopwatch());
  let exitCode = 0;
  let seen: readonly Seen[] | undefined;
  let trouble: string | undefined;
  let answeredAtMs = app.now();
  let scrolled = 0;
  const end = (code: number): void => {
    exitCode = code;
    stop.abort();
  };
  const draw = (): Promise<void> => {
    const { lines, scrolled: at } = pageOf({
      seen,
      trouble,
      place,
      scrolled,
      now: app.now(),
      answeredAtMs,
      color: app.console.stdoutColor,
      ...screen.size,
    });
    scrolled = at;
    return screen.draw(lines);
  };
  const scrollBy = (lines: number): void => {
    scrolled += lines;
    void draw();
  };
  const screen = new Screen(app.console, {
    resize: () => void draw(),
    key: (key) => {
      const page = Math.max(1, screen.size.rows - 6);
      const moves = { up: -1, down: 1, pageUp: -page, pageDown: page } as const;
      if (key === "quit") end(0);
      else if (key === "interrupt") end(exitCodes.interrupted);
      else scrollBy(moves[key]);
    },
  });
  const ends = { SIGINT: exitCodes.interrupted, SIGTERM: 143, SIGHUP: 129 } as const;
  const handlers = Object.entries(ends).map(([signal, code]) => [signal, () => end(code)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  screen.open();
  try {
    await draw();
    while (!stop.signal.aborted) {
      try {
        seen = await collector.collect(closely, within(patienceMs, stop.signal));
        answeredAtMs = app.now();
        trouble = undefined;
      } catch (error) {
        if (stop.signal.aborted) break;
        trouble = passingTrouble(error);
      }
      await draw();
      await pauseUntil(refreshMs, stop.signal);
    }
  } finally {
    screen.close();
    for (const [signal, handler] of handlers) process.off(signal, handler);
  }
  if (exitCode !== 0) throw new ExitWith(exitCode);
};

/** In words, when it may pass. Throws what will not: a key that is not good for anything. */
const passingTrouble = (error: unknown): string => {
  if (error instanceof HoldfastConnectionError) return "Holdfast does not answer";
  if (error instanceof DOMException && error.name === "TimeoutError") return "Holdfast takes its time";
  if (error instanceof HoldfastApiError && error.retryable) return explain(error).title;
  throw error;
};

const refreshMs = 2000;
/** One look takes no longer, or counts as none. */
const patienceMs = 8000;
/** Computers looked at closely each time: some 360 requests a minute, of 1,200 that the key has. */
const closely = 5;
/** The same for one table: each is looked at twice, with two requests. */
const closelyOnce = 200;
