import { open, readFile } from "node:fs/promises";

/** How many descriptors this process may have at most. */
export const descriptorLimit = async (): Promise<number> => {
  const limits = await readFile("/proc/self/limits", "utf8");
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
  return soft === undefined || soft === "unlimited" ? Infinity : Number(soft);
};

/** Why not even the null device can be opened, as when this process has no descriptor left; undefined when all is well. */
export const lacksDescriptors = async (): Promise<string | undefined> => {
  try {
    await (await open("/dev/null")).close();
    return undefined;
  } catch (error) {
    return `no file can be opened: ${error instanceof Error ? error.message : String(error)}`;
  }
};
