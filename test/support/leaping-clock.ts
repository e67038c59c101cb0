import type { Clock } from "@holdfast/kit";

/** Time as it passes, until it is told to leap: then so much of it is over at once, and what was due in between happens, in its order. */
export interface LeapingClock extends Clock {
  leap(ms: number): void;
  /** Sets the wall clock alone, as an operator or a time server does; ahead, or back when negative. */
  setWall(byMs: number): void;
}

interface Timer {
  readonly dueAt: number;
  readonly callback: () => void;
  handle: NodeJS.Timeout;
}

export const leapingClock = (): LeapingClock => {
  const timers = new Set<Timer>();
  let ahead = 0;
  let wallAhead = 0;
  const monotonic = (): number => performance.now() + ahead;
  const arm = (timer: Timer): void => {
    timer.handle = setTimeout(
      () => {
        timers.delete(timer);
        timer.callback();
      },
      Math.max(0, timer.dueAt - monotonic()),
    );
    timer.handle.unref();
  };
  const after: Clock["after"] = (ms, callback) => {
    const timer: Timer = { dueAt: monotonic() + ms, callback, handle: setTimeout(() => undefined, 0) };
    clearTimeout(timer.handle);
    timers.add(timer);
    arm(timer);
    return () => {
      timers.delete(timer);
      clearTimeout(timer.handle);
    };
  };
  return {
    now: () => Math.round(Date.now() + ahead + wallAhead),
    monotonic,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const reason = (): Error => (signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
        if (signal?.aborted) return reject(reason());
        const aborted = (): void => {
          cancel();
          reject(reason());
        };
        const cancel = after(ms, () => {
          signal?.removeEventListener("abort", aborted);
          resolve();
        });
        signal?.addEventListener("abort", aborted, { once: true });
      }),
    leap: (ms) => {
      ahead += ms;
      for (const timer of [...timers].toSorted((a, b) => a.dueAt - b.dueAt)) {
        clearTimeout(timer.handle);
        arm(timer);
      }
    },
    setWall: (byMs) => {
      wallAhead += byMs;
    },
  };
};
