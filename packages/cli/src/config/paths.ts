import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the CLI keeps its configuration: XDG, one directory for contexts and keys. Relative XDG values are ignored, as XDG says. */
export const configDirectory = (environment: Environment): string => {
  const base = environment["XDG_CONFIG_HOME"];
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), ".config"), "holdfast");
};
