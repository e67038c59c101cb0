import { open } from "node:fs/promises";

/** Why not even the null device can be opened, as when this process has no descriptor left; undefined when all is well. */
export const lacksDescriptors = async (): Promise<string | undefined> => {
  try {
    await (await open("/dev/null")).close();
    return undefined;
  } catch (error) {
    return `no file can be opened: ${error instanceof Error ? error.message : String(error)}`;
  }
};
