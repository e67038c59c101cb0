import { readFile } from "node:fs/promises";
import { HoldfastError } from "@holdfast/contract";

export interface HostMemory {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

/** Kept for the host and our own programs, whatever the cells want: a tenth, within these bounds. */
const reserveBounds = { least: 256 * 1024 * 1024, most: 2 * 1024 * 1024 * 1024 };

export const reserveBytes = (totalBytes: number): number =>
  Math.min(reserveBounds.most, Math.max(reserveBounds.least, Math.floor(totalBytes / 10)));

/**
 * Lets a cell begin to run only while the host has memory for it. Limits may sum up to more than the host has, most cells idle; what is
 * asked for is an eighth of the cell's limit, and what cells under way have been promised counts.
 */
export interface Admission {
  /** Runs `work` with the memory set aside, or throws `host_full`. */
  admit<T>(limitBytes: number, work: () => Promise<T>): Promise<T>;
}

export const createAdmission = (readMemory: () => Promise<HostMemory>): Admission => {
  let promised = 0;
  return {
    admit: async (limitBytes, work) => {
      const wanted = Math.floor(limitBytes / 8);
      const { totalBytes, availableBytes } = await readMemory();
      const free = availableBytes - reserveBytes(totalBytes) - promised;
      if (free < wanted)
        throw new HoldfastError(
          "host_full",
          "the host has not enough free memory for another running computer",
          {
            wanted_bytes: wanted,
            free_bytes: Math.max(0, free),
          },
        );
      promised += wanted;
      try {
        return await work();
      } finally {
        promised -= wanted;
      }
    },
  };
};

export const readHostMemory = async (): Promise<HostMemory> =>
  parseMemory(await readFile("/proc/meminfo", "utf8"));

/** Throws when the kernel's text holds no such line: then nothing may be admitted. */
export const parseMemory = (text: string): HostMemory => {
  const bytes = (key: string): number => {
    const kilobytes = new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
    if (kilobytes === undefined) throw new Error(`/proc/meminfo has no ${key}`);
    return Number(kilobytes) * 1024;
  };
  return { totalBytes: bytes("MemTotal"), availableBytes: bytes("MemAvailable") };
};
