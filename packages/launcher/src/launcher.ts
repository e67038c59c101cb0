import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeDurably, type Clock, type CrashPoint, type Logger } from "@holdfast/kit";
import { placesOf } from "./instance/places.ts";
import type { InstanceSettings } from "./instance/settings.ts";
import { followCertificate } from "./programs/certificate-copy.ts";
import { planPrograms } from "./programs/plans.ts";
import type { ProgramPlan } from "./programs/plan.ts";
import { watchProgram } from "./programs/watch.ts";

/**
 * Watches every program of the instance until the signal aborts, then returns and leaves them running. Needs what set-up makes: users,
 * directories, mounts, the cluster. All are started at once: each waits by itself for those that it asks.
 */
export const runLauncher = async (options: {
  readonly settings: InstanceSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { settings, clock, random, logger, crashPoint, signal } = options;
  const places = placesOf(settings.instance, settings.data);
  const { log, records } = places;
  const plans = await planPrograms(settings, clock);
  crashPoint("launcher-before-announced");
  await announce(records, plans);
  crashPoint("launcher-announced");
  await Promise.all([
    followCertificate({ settings, places, clock, logger, signal }),
    ...plans.map((plan) =>
      watchProgram({
        plan,
        places: { agent: settings.agent, log, records },
        clock,
        random,
        logger,
        crashPoint,
        signal,
      }),
    ),
  ]);
};

const announced = z.object({ launcher_pid: z.number().int(), labels: z.record(z.string(), z.string()) });
const announcementPath = (records: string): string => join(records, "plans.json");

const announce = (records: string, plans: readonly ProgramPlan[]): Promise<void> => {
  const labels = Object.fromEntries(plans.map(({ name, label }) => [name, label]));
  const content = `${JSON.stringify({ launcher_pid: process.pid, labels })}\n`;
  return writeDurably(announcementPath(records), content);
};

/**
 * What the launcher with this pid means each program to be, by label: until a program carries its label it is an older one about to be
 * replaced. Undefined until that launcher has planned.
 */
export const readAnnouncedLabels = async (
  records: string,
  launcherPid: number,
): Promise<Readonly<Record<string, string>> | undefined> => {
  const text = await readFile(announcementPath(records), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { launcher_pid, labels } = announced.parse(JSON.parse(text));
  return launcher_pid === launcherPid ? labels : undefined;
};
