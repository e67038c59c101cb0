import { readFileSync } from "node:fs";

/** A process named so that a later one with the same pid is not mistaken for it. `start_time` in clock ticks after boot. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start_time: number;
}

/** Whether exactly this process still runs. A zombie does not. */
export const isAlive = (identity: ProcessIdentity): boolean => {
  const stat = readStat(identity.pid);
  return (
    stat !== undefined && stat.startTime === identity.start_time && stat.state !== "Z" && stat.state !== "X"
  );
};

/** Sends the signal if exactly this process still runs; whether it did. */
export const signal = (identity: ProcessIdentity, name: NodeJS.Signals): boolean => {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, name);
    return true;
  } catch {
    return false;
  }
};

export const identify = (pid: number): ProcessIdentity | undefined => {
  const stat = readStat(pid);
  return stat && { pid, start_time: stat.startTime };
};

export const readBootId = (): string => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();

const readStat = (pid: number): { readonly state: string; readonly startTime: number } | undefined => {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name in field 2 may hold spaces and parentheses; field 3 follows the last one.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "X", startTime: Number(fields[19]) };
};
