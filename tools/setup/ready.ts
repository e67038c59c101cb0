import { join } from "node:path";
import { readFile } from "node:fs/promises";
import {
  plainText,
  readAnnouncedLabels,
  readProgramStatus,
  readRecord,
  recordPath,
  runningProgram,
  type Places,
  type ProgramPlan,
} from "@holdfast/launcher";
import { HoldfastError } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { StepResult } from "./progress.ts";

const waitMs = 60_000;
const slowStartMs = 5 * 60_000;

/**
 * How long a program may go on saying this. One that only says that it is starting, or that the launcher has not come to start yet (the
 * database is made before its first start), is slow, as on an emulated or overloaded host.
 */
export const patienceMs = (detail: string, startedBefore: boolean): number =>
  detail.startsWith("starting") || !startedBefore ? slowStartMs : waitMs;

/**
 * Waits until the program serves, and is the one that the launcher means to run. Throws after a minute (five, while it has
 * not been started or says nothing but that it is starting) with what it said last and the end of its log, and at once when there is no launcher.
 */
export const waitUntilReady = async (
  plan: ProgramPlan,
  places: Places,
  clock: Clock,
): Promise<StepResult<void>> => {
  const since = clock.monotonic();
  for (let tries = 0; ; tries += 1) {
    const status = await readProgramStatus(plan, places);
    if (status.ready && (await isCurrent(plan.name, places))) {
      return {
        outcome: tries === 0 ? "skipped" : "done",
        detail: `pid ${status.pid}, ready`,
        value: undefined,
      };
    }
    if (!(await launcherOf(places)))
      throw new Error(`The launcher ended.\n${await logTail(places, "launcher")}Run \`holdfast up\` again.`);
    const waited = clock.monotonic() - since;
    if (waited > waitMs && waited > patienceMs(status.detail, await wasStarted(plan.name, places))) {
      throw new Error(
        `not ready after ${Math.round(waited / 1000)} s: ${status.detail}\n${await logTail(places, status.running ? plan.name : "launcher")}` +
          "Run `holdfast doctor` for what the instance needs.",
      );
    }
    await clock.sleep(50);
  }
};

const launcherOf = async ({ records }: Pick<Places, "records">) =>
  runningProgram(await readRecord(recordPath({ records }, "launcher")));

const wasStarted = async (name: string, { records }: Places): Promise<boolean> =>
  (await readRecord(recordPath({ records }, name))) !== undefined;

const isCurrent = async (name: string, { records }: Places): Promise<boolean> => {
  const launcher = await launcherOf({ records });
  const labels = launcher && (await readAnnouncedLabels(records, launcher.pid));
  return labels !== undefined && labels[name] === (await readRecord(recordPath({ records }, name)))?.label;
};

const logTail = async (places: Places, program: string): Promise<string> => {
  const path = join(places.log, `${program}.log`);
  const text = await readFile(path, "utf8").catch(() => "");
  const lines = text.trimEnd().split("\n").slice(-8);
  return text === ""
    ? ""
    : `The end of ${path}:\n${lines.map((line) => `  ${plainText(line.slice(0, 500))}\n`).join("")}`;
};

/** Repeats `ask` while the program is not far enough to take it. Throws after 20 s with what it said last. */
export const askWhenAnswering = async <T>(ask: () => Promise<T>, clock: Clock): Promise<T> => {
  const until = clock.monotonic() + 20_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isEarly = error instanceof HoldfastError && error.code === "unavailable";
      if (!isEarly || clock.monotonic() > until) throw error;
      await clock.sleep(50);
    }
  }
};
