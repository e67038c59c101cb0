/**
 * As `Promise.all`, but only once all of them are over, also when one fails: what undoes their work must not run beside the rest of
 * it. Throws the first reason in their order.
 */
export const allOver = async <T extends readonly unknown[]>(
  works: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> => {
  await Promise.allSettled(works);
  return Promise.all(works);
};
