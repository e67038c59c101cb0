import process from "node:process";
import { hanging } from "@holdfast/cli/lines";
import { readSettings, type InstanceSettings } from "@holdfast/launcher";
import type { HostArguments } from "./arguments.ts";
import { widthFor } from "./progress.ts";
import { hostRegistry } from "./steps/instance.ts";

/** The settings of the instance that was asked for, wherever its data is; says so when there is none. */
export const findInstance = async (options: HostArguments): Promise<InstanceSettings | undefined> => {
  const entry = await hostRegistry().find(options.instance);
  const settings = await readSettings(entry?.data ?? options.data);
  if (!settings) {
    const others = Object.keys(await hostRegistry().list()).filter((name) => name !== options.instance);
    process.stderr.write(`${hanging("", absence(options.instance, others), widthFor(process.stderr))}\n`);
  }
  return settings;
};

/** What to say when there is no such instance: which there are, or how to make one. */
export const absence = (instance: string, others: readonly string[]): string => {
  const title = `There is no instance ${instance} on this host.`;
  const [first] = others;
  if (first === undefined) return `${title} \`holdfast up\` makes it.`;
  return `${title} Those here: ${others.join(", ")}. Choose with --instance ${first}.`;
};
