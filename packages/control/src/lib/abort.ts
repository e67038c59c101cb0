/**
 * What the promise answers, or `aborted` as soon as the signal says so. Unlike `Promise.race` with a long-lived promise it leaves nothing
 * behind on the signal, so it may be called for every piece of an endless stream.
 */
export const orAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T | "aborted"> =>
  new Promise((resolve, reject) => {
    const abort = (): void => resolve("aborted");
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
