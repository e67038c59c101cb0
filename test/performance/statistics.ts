/** Figures of one subject, milliseconds unless its unit says otherwise. */
export interface Summary {
  readonly count: number;
  readonly median: number;
  readonly p99: number;
}

export const summarize = (samples: readonly number[]): Summary => {
  const sorted = samples.toSorted((left, right) => left - right);
  return { count: sorted.length, median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
};

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;

export const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const since = performance.now();
  await run();
  return performance.now() - since;
};

/** Runs every subject once per round, in an order that turns with the round, so that drift of the machine hits all alike. */
export const interleave = async (
  subjects: readonly { readonly name: string; readonly run: () => Promise<number> }[],
  rounds: number,
): Promise<Readonly<Record<string, readonly number[]>>> => {
  const samples: Record<string, number[]> = Object.fromEntries(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (let index = 0; index < subjects.length; index += 1) {
      const subject = subjects[(index + round) % subjects.length];
      if (subject) samples[subject.name]?.push(await subject.run());
    }
  return samples;
};
