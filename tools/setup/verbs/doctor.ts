import process from "node:process";
import { hanging } from "@holdfast/cli/lines";
import { placesOf } from "@holdfast/launcher";
import type { HostArguments } from "../arguments.ts";
import { proveHost } from "../doctor/host.ts";
import { proveMemory } from "../doctor/memory.ts";
import { proveLayers, provePrograms, readStages } from "../doctor/programs.ts";
import { proveProjects } from "../doctor/projects.ts";
import { findInstance } from "../find-instance.ts";
import { widthFor } from "../progress.ts";
import { readStatuses } from "./status.ts";

/** Tries everything the instance needs. Exit status 0: all proven, 1: something is missing; each comes with what to do. */
export const doctor = async (options: HostArguments): Promise<number> => {
  const settings = await findInstance(options);
  if (!settings) return 1;
  const statuses = await readStatuses(settings);
  const hasSupervisor = statuses.some(({ name }) => name === "supervisor");
  const proofs = [
    ...(await proveHost(settings)),
    ...provePrograms(statuses, placesOf(settings.instance, settings.data).log),
    ...(await proveProjects(settings)),
    ...(hasSupervisor ? await proveMemory(settings, statuses) : []),
    ...(hasSupervisor ? await proveLayers(settings) : []),
  ];
  const stages = await readStages(settings);
  const missing = proofs.filter(({ proven }) => !proven);
  if (options.json)
    process.stdout.write(`${JSON.stringify({ ok: missing.length === 0, proofs, stages }, null, 2)}\n`);
  else {
    const say = (mark: string, name: string, text: string): void => {
      const head = `${mark.padEnd(7)}  ${name.padEnd(22)} `;
      process.stdout.write(`${hanging(head, text, widthFor(process.stdout))}\n`);
    };
    for (const { name, proven, detail, remedy } of proofs) {
      say(proven ? "proven" : "MISSING", name, detail);
      if (remedy !== "") say("", "", `→ ${remedy}`);
    }
    for (const { name, filled, detail } of stages) {
      say(filled ? "filled" : "open", `stage ${name.replaceAll("_", " ")}`, detail);
    }
    const open = stages.filter(({ filled }) => !filled);
    process.stdout.write(`\n${verdict(proofs.length, missing.length, open.length)}\n`);
  }
  return missing.length === 0 ? 0 : 1;
};

/** The last line. An open stage is no fault of the host, and nothing that was proven either. */
export const verdict = (proofs: number, missing: number, open: number): string => {
  if (missing > 0) return `${missing} of ${proofs} are missing.`;
  if (open === 0) return "Everything is proven.";
  return `Everything that is built is proven; ${open} ${open === 1 ? "stage is" : "stages are"} open.`;
};
