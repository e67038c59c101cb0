import { availableParallelism, totalmem } from "node:os";
import type { InstanceSettings } from "./settings.ts";

const gibibyte = 1024 ** 3;

/**
 * How many blank cells are kept started where nobody said. Each is a few megabytes and, while it is made, some 50 ms of a processor: on a
 * small host both are better left to what people wait for.
 */
export const warmDefault = (memoryBytes: number, processors: number): number => {
  if (memoryBytes < 8 * gibibyte || processors < 4) return 0;
  return memoryBytes < 32 * gibibyte || processors < 8 ? 2 : 4;
};

export const warmCells = (settings: Pick<InstanceSettings, "warm">): number =>
  settings.warm ?? warmDefault(totalmem(), availableParallelism());
