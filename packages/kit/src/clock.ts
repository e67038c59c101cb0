/** Time, as everything but kit and `lib/` folders may see it. Tests move a manual clock instead of sleeping. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): number;
  /** Monotonic milliseconds, for durations and deadlines. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once; the returned function cancels. Does not keep the process alive. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(asError(signal.reason));
      const done = () => {
        signal?.removeEventListener("abort", aborted);
        resolve();
      };
      const timer = setTimeout(done, ms);
      const aborted = () => {
        clearTimeout(timer);
        reject(asError(signal?.reason));
      };
      signal?.addEventListener("abort", aborted, { once: true });
    }),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error("aborted"));
