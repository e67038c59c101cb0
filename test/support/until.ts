/** Far beyond every promised time. Those are said: on a host that others load everything is late, and what hangs is found all the same. */
export const hangMs = 30_000;

/**
 * Asks again and again until it holds; throws with `detail` when it does not in time. The pause between two looks grows to 50 ms:
 * there is no event for what is looked at from outside.
 */
export const until = async (
  what: string,
  holds: () => Promise<boolean> | boolean,
  options: { readonly withinMs?: number; readonly detail?: () => string } = {},
): Promise<void> => {
  const deadline = performance.now() + (options.withinMs ?? 10_000);
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    if (await holds()) return;
    if (performance.now() > deadline) {
      throw new Error(`not in time: ${what}${options.detail ? ` (${options.detail()})` : ""}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
};

/** The value that `look` gives once it gives one. */
export const untilValue = async <T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  withinMs = 10_000,
): Promise<T> => {
  let value: T | undefined;
  await until(what, async () => (value = await look()) !== undefined, { withinMs });
  return value as T;
};
