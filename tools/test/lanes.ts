/** A file of a run. */
export interface TestFile {
  readonly path: string;
  readonly group: string;
  /** Uses an instance that other files of the run use before and after it. */
  readonly shared: boolean;
  /** Beside nothing, after all others. */
  readonly alone: boolean;
}

/** The ways by which a test file comes to an instance that the run shares (test/support). */
const usesInstance = /\buse(Instance|Assistant|Computer|Rest)\(/;
/** Those that bring up much of their own; they last longest. */
const bringsUp = /\buse(PrivateInstance|Bench|CellHost|Hosted)\(/;

/**
 * Files that share an instance see all of it and take its computers away at their end, so of one instance there is one of them at a time. One
 * that is taken for another by mistake gets an instance of its own, as without a runner.
 */
export const isShared = (text: string): boolean => usesInstance.test(text);

/** Long ones first, so that none of them is under way alone at the end; else as they stand. */
export const inOrder = (files: readonly TestFile[], textOf: (path: string) => string): readonly TestFile[] =>
  files.toSorted((a, b) => Number(bringsUp.test(textOf(b.path))) - Number(bringsUp.test(textOf(a.path))));

/** Hands out files to lanes, each once. */
export interface Queue {
  /** A lane with an instance takes files that share one as long as there are any, then the others; a lane without only the others. */
  next(withInstance: boolean): TestFile | undefined;
  /** Those that run alone, once the lanes are through. */
  readonly alone: readonly TestFile[];
  readonly shared: number;
}

export const queueOf = (files: readonly TestFile[]): Queue => {
  const together = files.filter(({ alone }) => !alone);
  const shared = together.filter((file) => file.shared);
  const others = together.filter((file) => !file.shared);
  return {
    shared: shared.length,
    alone: files.filter(({ alone }) => alone),
    next: (withInstance) => (withInstance ? shared.shift() : undefined) ?? others.shift(),
  };
};
