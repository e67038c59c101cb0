import process from "node:process";
import {
  placesOf,
  planLauncher,
  planPrograms,
  projectsAddress,
  publicAddress,
  readProgramStatus,
  type InstanceSettings,
  type ProgramStatus,
} from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import type { HostArguments } from "../arguments.ts";
import { findInstance } from "../find-instance.ts";
import { projectPattern } from "../projects.ts";

/** Prints the programs and addresses of the instance. Exit status 0: all ready, 3: not. */
export const status = async (options: HostArguments): Promise<number> => {
  const settings = await findInstance(options);
  if (!settings) return 3;
  const programs = await readStatuses(settings);
  const ready = programs.every((program) => program.ready);
  if (options.json) {
    const { instance, short_id, data, listen } = settings;
    const address = publicAddress(settings);
    const projects = settings.projects && {
      ...settings.projects,
      address: projectsAddress(settings.projects),
    };
    process.stdout.write(
      `${JSON.stringify({ instance, short_id, data, listen, address, projects, ready, programs }, null, 2)}\n`,
    );
  } else process.stdout.write(table(settings, programs));
  return ready ? 0 : 3;
};

/** The launcher first, then the programs in the order they start. */
export const readStatuses = async (settings: InstanceSettings): Promise<readonly ProgramStatus[]> => {
  const places = placesOf(settings.instance, settings.data);
  const plans = [await planLauncher(settings, places), ...(await planPrograms(settings, systemClock))];
  return Promise.all(plans.map((plan) => readProgramStatus(plan, places)));
};

const table = (settings: InstanceSettings, programs: readonly ProgramStatus[]): string => {
  const rows = programs.map(({ name, pid, running, ready, detail }) => [
    name,
    pid === null ? "-" : String(pid),
    ready ? "ready" : running ? "not ready" : "down",
    detail,
  ]);
  const lines = [["PROGRAM", "PID", "HEALTH", ""], ...rows].map(
    ([name = "", pid = "", health = "", detail = ""]) =>
      `${name.padEnd(12)} ${pid.padEnd(8)} ${health.padEnd(10)} ${detail}`.trimEnd(),
  );
  const { projects } = settings;
  return [
    ...lines,
    "",
    `Instance ${settings.instance} (${settings.short_id}) in ${settings.data}`,
    `API ${publicAddress(settings)}`,
    ...(projects ? [`Projects ${projectPattern(projects)}`] : []),
    "",
  ].join("\n");
};
