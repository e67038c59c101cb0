/** `20261130-153157`, of UTC. */
const stamp = (ms: number): string => {
  const text = new Date(ms).toISOString();
  return `${text.slice(0, 10).replaceAll("-", "")}-${text.slice(11, 19).replaceAll(":", "")}`;
};

/** A name made from the time; `id` tells apart what is taken within one second. */
export const timedName = (prefix: "at" | "before-restore", ms: number, id: string): string =>
  `${prefix}-${stamp(ms)}-${id.slice(-4)}`;

const hourMs = 3600 * 1000;
const dayMs = 24 * hourMs;
/** 1 January 1970 was a Thursday; weeks begin on Monday. */
const mondayMs = 3 * dayMs;

export type Slot = "hourly" | "daily" | "weekly";

/** When the hour, day or week of UTC began that this moment is in. */
export const slotBegin = (slot: Slot, ms: number): number => {
  if (slot === "hourly") return ms - (ms % hourMs);
  if (slot === "daily") return ms - (ms % dayMs);
  return ms - ((ms + mondayMs) % (7 * dayMs));
};

/** One name for each hour, day or week: so there is one snapshot for it at most, whoever takes it. */
export const slotName = (slot: Slot, ms: number): string => {
  const begin = stamp(slotBegin(slot, ms));
  return `${slot}-${slot === "hourly" ? begin.slice(0, 11) : begin.slice(0, 8)}`;
};
