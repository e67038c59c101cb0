/**
 * The same bytes, once the first of them are there: what keeps a stream from beginning is thrown here, where it can still be answered as an error. Closing
 * the iterator closes the source's.
 */
export const firstWaited = async (bytes: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> => {
  const source = bytes[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | undefined = await source.next();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const step = first;
        first = undefined;
        return step ? Promise.resolve(step) : source.next();
      },
      return: async () => {
        await source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
};
