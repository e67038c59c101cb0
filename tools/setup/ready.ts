import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { readProgramStatus, type Places, type ProgramPlan } from "@holdfast/launcher";
import type { Clock } from "@holdfast/kit";
import type { StepResult } from "./progress.ts";

const waitMs = 60_000;

/** Waits until the program serves. Throws after a minute with what it said last and the end of its log. */
export const waitUntilReady = async (
  plan: ProgramPlan,
  places: Places,
  clock: Clock,
): Promise<StepResult<void>> => {
  const until = clock.monotonic() + waitMs;
  for (let tries = 0; ; tries += 1) {
    const status = await readProgramStatus(plan, places);
    if (status.ready) {
      return {
        outcome: tries === 0 ? "skipped" : "done",
        detail: `pid ${status.pid}, ready`,
        value: undefined,
      };
    }
    if (clock.monotonic() > until) {
      throw new Error(
        `not ready after ${waitMs / 1000} s: ${status.detail}\n${await logTail(places, plan.name)}` +
          "Run `holdfast doctor` for what the instance needs.",
      );
    }
    await clock.sleep(50);
  }
};

const logTail = async (places: Places, program: string): Promise<string> => {
  const path = join(places.log, `${program}.log`);
  const text = await readFile(path, "utf8").catch(() => "");
  const lines = text.trimEnd().split("\n").slice(-8);
  return text === ""
    ? ""
    : `The end of ${path}:\n${lines.map((line) => `  ${line.slice(0, 500)}\n`).join("")}`;
};

/** Waits until the program answers at all, ready or not. Throws after 20 s. */
export const waitUntilAnswering = async (plan: ProgramPlan, clock: Clock): Promise<void> => {
  const until = clock.monotonic() + 20_000;
  for (;;) {
    try {
      await plan.health();
      return;
    } catch (cause) {
      if (clock.monotonic() > until) throw new Error(`${plan.name} does not answer`, { cause });
      await clock.sleep(50);
    }
  }
};
