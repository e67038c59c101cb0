import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds since this was called. */
export const startStopwatch = (): (() => number) => {
  const began = performance.now();
  return () => performance.now() - began;
};

export const pause = async (ms: number): Promise<void> => {
  await sleep(ms);
};

/** The same, at once over when the signal is aborted. */
export const pauseUntil = async (ms: number, signal: AbortSignal): Promise<void> => {
  await sleep(ms, undefined, { signal }).catch(() => {});
};

/** Aborted after so long, or with the given signal. */
export const within = (ms: number, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(ms)]);

/** Calls `tick` again and again until the answer is called. */
export const every = (ms: number, tick: () => void): (() => void) => {
  const timer = setInterval(tick, ms);
  return () => clearInterval(timer);
};

/** Calls `late` unless the answer is called before. */
export const after = (ms: number, late: () => void): (() => void) => {
  const timer = setTimeout(late, ms);
  return () => clearTimeout(timer);
};
