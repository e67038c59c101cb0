import process from "node:process";
import { readSettings, type InstanceSettings } from "@holdfast/launcher";
import type { HostArguments } from "./arguments.ts";
import { hostRegistry } from "./steps/instance.ts";

/** The settings of the instance that was asked for, wherever its data is; says so when there is none. */
export const findInstance = async (options: HostArguments): Promise<InstanceSettings | undefined> => {
  const entry = await hostRegistry().find(options.instance);
  const settings = await readSettings(entry?.data ?? options.data);
  if (!settings) {
    process.stderr.write(
      `There is no instance ${options.instance} on this host. \`holdfast up\` makes it.\n`,
    );
  }
  return settings;
};
