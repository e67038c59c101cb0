/** Lines of context around a change. */
const context = 3;
/** Added and removed lines that are looked for one by one; more than these are shown as one block. */
const mostEdits = 400;

type Edit = { readonly kind: " " | "-" | "+"; readonly line: string };

/** A unified diff of two texts, as `diff -u` shows it; undefined: that side has no such file. Empty when they are the same. */
export const unifiedDiff = (path: string, before: string | undefined, after: string | undefined): string => {
  if (before === after) return "";
  const edits = editsOf(linesOf(before), linesOf(after));
  const hunks = hunksOf(edits);
  if (hunks.length === 0) return "";
  const from = before === undefined ? "/dev/null" : `a${path}`;
  const to = after === undefined ? "/dev/null" : `b${path}`;
  return `--- ${from}\n+++ ${to}\n${hunks.join("")}`;
};

const linesOf = (text: string | undefined): readonly string[] => {
  if (text === undefined || text === "") return [];
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  return last === "" ? lines : [...lines, `${last}\n\\ No newline at end of file`];
};

const editsOf = (before: readonly string[], after: readonly string[]): readonly Edit[] => {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end += 1;
  const same = (lines: readonly string[]): Edit[] => lines.map((line) => ({ kind: " ", line }));
  return [
    ...same(before.slice(0, start)),
    ...shortest(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
};

/** Myers' greedy search for the fewest edits (An O(ND) Difference Algorithm, 1986), given up after `mostEdits`. */
const shortest = (before: readonly string[], after: readonly string[]): readonly Edit[] => {
  const most = Math.min(before.length + after.length, mostEdits);
  const furthest = new Map<number, number>([[1, 0]]);
  const trail: ReadonlyMap<number, number>[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trail.push(new Map(furthest));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = nextX(furthest, diagonal, edits);
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      furthest.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return walkBack(trail, before, after);
    }
  }
  return [
    ...before.map((line): Edit => ({ kind: "-", line })),
    ...after.map((line): Edit => ({ kind: "+", line })),
  ];
};

const nextX = (furthest: ReadonlyMap<number, number>, diagonal: number, edits: number): number => {
  const down = furthest.get(diagonal + 1) ?? -1;
  const right = furthest.get(diagonal - 1) ?? -1;
  return diagonal === -edits || (diagonal !== edits && right < down) ? Math.max(down, 0) : right + 1;
};

const walkBack = (
  trail: readonly ReadonlyMap<number, number>[],
  before: readonly string[],
  after: readonly string[],
): readonly Edit[] => {
  const edits: Edit[] = [];
  let x = before.length;
  let y = after.length;
  for (let step = trail.length - 1; step > 0; step -= 1) {
    const furthest = trail[step] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = furthest.get(diagonal + 1) ?? -1;
    const right = furthest.get(diagonal - 1) ?? -1;
    const isDown = diagonal === -step || (diagonal !== step && right < down);
    const fromX = isDown ? Math.max(down, 0) : right;
    const fromY = fromX - (isDown ? diagonal + 1 : diagonal - 1);
    const [startX, startY] = isDown ? [fromX, fromY + 1] : [fromX + 1, fromY];
    while (x > startX && y > startY) {
      x -= 1;
      y -= 1;
      edits.push({ kind: " ", line: before[x] ?? "" });
    }
    edits.push(isDown ? { kind: "+", line: after[fromY] ?? "" } : { kind: "-", line: before[fromX] ?? "" });
    x = fromX;
    y = fromY;
  }
  while (x > 0 && y > 0) {
    x -= 1;
    y -= 1;
    edits.push({ kind: " ", line: before[x] ?? "" });
  }
  return edits.reverse();
};

const hunksOf = (edits: readonly Edit[]): readonly string[] => {
  const hunks: string[] = [];
  const changes = edits.flatMap(({ kind }, index) => (kind === " " ? [] : [index]));
  for (let first = 0; first < changes.length; ) {
    let last = first;
    while ((changes[last + 1] ?? Infinity) - (changes[last] ?? 0) <= 2 * context) last += 1;
    const from = Math.max(0, (changes[first] ?? 0) - context);
    const to = Math.min(edits.length, (changes[last] ?? 0) + context + 1);
    hunks.push(hunkOf(edits, from, to));
    first = last + 1;
  }
  return hunks;
};

const hunkOf = (edits: readonly Edit[], from: number, to: number): string => {
  const count = (part: readonly Edit[], not: "+" | "-"): number =>
    part.filter(({ kind }) => kind !== not).length;
  const part = edits.slice(from, to);
  const lead = edits.slice(0, from);
  const rangeOf = (not: "+" | "-"): string => {
    const lines = count(part, not);
    // As `diff` has it: of nothing, the line before.
    return `${count(lead, not) + (lines === 0 ? 0 : 1)},${lines}`;
  };
  const lines = part.map(({ kind, line }) => `${kind}${line}\n`).join("");
  return `@@ -${rangeOf("+")} +${rangeOf("-")} @@\n${lines}`;
};
