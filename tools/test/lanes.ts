/** Files that run `concurrency` at a time, all with the run's instance or all without it. */
export interface Lane {
  readonly files: readonly string[];
  readonly concurrency: number;
  readonly shared: boolean;
}

/** The ways by which a test file comes to the instance that the run shares (test/support). */
const usesInstance = /\buse(Instance|Assistant|Computer|Rest)\(/;

/**
 * What runs side by side, round after round. Files that share the run's instance see all of it and take its computers away at their end, so
 * there is one of them at a time; beside it run those that have all they need to themselves. One that is taken for the latter by mistake gets
 * an instance of its own, as without a runner.
 */
export const lanesOf = (
  files: readonly string[],
  textOf: (file: string) => string,
  { concurrency, alone }: { readonly concurrency: number; readonly alone: ReadonlySet<string> },
): readonly (readonly Lane[])[] => {
  const isShared = (file: string): boolean => usesInstance.test(textOf(file));
  const together = files.filter((file) => !alone.has(file));
  const shared = together.filter(isShared);
  const others = together.filter((file) => !isShared(file));
  const beside = shared.length > 0 ? concurrency - 1 : concurrency;
  const lanes = [
    { files: shared, concurrency: 1, shared: true },
    { files: others, concurrency: Math.max(beside, 1), shared: false },
  ].filter((lane) => lane.files.length > 0);
  const rounds = concurrency > 1 ? [lanes] : lanes.map((lane) => [lane]);
  const last = files.filter((file) => alone.has(file));
  return [
    ...rounds,
    ...last.map((file) => [{ files: [file], concurrency: 1, shared: isShared(file) }]),
  ].filter((round) => round.length > 0);
};
