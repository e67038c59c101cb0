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

/** One that can run `count` times in a row; milliseconds of each. */
export interface Subject {
  readonly name: string;
  readonly run: (count: number) => Promise<readonly number[]>;
}

/** By subject: the first run after the others had theirs, and those that follow it at once. */
export interface Samples {
  readonly paused: readonly number[];
  readonly busy: readonly number[];
}

export const repeat =
  (run: () => Promise<number>): Subject["run"] =>
  async (count) => {
    const samples: number[] = [];
    for (let index = 0; index < count; index += 1) samples.push(await run());
    return samples;
  };

/**
 * Every subject in every round, in an order that turns with the round, so that drift of the machine hits all alike. In a round a subject
 * runs once after the pause that the others' turns make, then `burst` times without one: a machine that was idle answers a good deal
 * later, to everybody, and both are what users meet.
 */
export const interleave = async (
  subjects: readonly Subject[],
  options: { readonly rounds: number; readonly burst: number },
): Promise<Readonly<Record<string, Samples>>> => {
  const all = new Map(subjects.map(({ name }) => [name, { paused: [] as number[], busy: [] as number[] }]));
  for (let round = 0; round < options.rounds; round += 1)
    for (let index = 0; index < subjects.length; index += 1) {
      const subject = subjects[(index + round) % subjects.length];
      const samples = subject && all.get(subject.name);
      if (!samples) continue;
      samples.paused.push(...(await subject.run(1)));
      samples.busy.push(...(await subject.run(options.burst)));
    }
  return Object.fromEntries(all);
};
