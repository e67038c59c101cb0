/** What the client needs of its surroundings. Node and browsers both have all of it; tests hand in their own. */
export interface Runtime {
  readonly fetch: typeof globalThis.fetch;
  /** Opens a WebSocket. Browsers cannot set headers on one and rely on the session's cookie instead. */
  readonly openSocket: (url: string, headers: Readonly<Record<string, string>>) => WebSocket;
  /** Resolves after `ms`; rejects with the signal's reason. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Unguessable text, for idempotency keys. */
  readonly randomId: () => string;
  /** Between 0 and 1, for jitter. */
  readonly random: () => number;
}

export const createRuntime = (given: Partial<Runtime> = {}): Runtime => ({
  fetch: (input, init) => globalThis.fetch(input, init),
  openSocket: (url, headers) =>
    Object.keys(headers).length === 0
      ? new WebSocket(url)
      : // Node takes an options object in second place; browsers, which never get here, take protocols.
        new WebSocket(url, { headers } as unknown as string[]),
  sleep,
  randomId: () => globalThis.crypto.randomUUID(),
  random: () => Math.random(),
  ...given,
});

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    const aborted = (): void => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    signal?.addEventListener("abort", aborted, { once: true });
  });

const reasonOf = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new Error("aborted");
