import type { FileResult, Tally } from "./run-file.ts";

const shown = 10;

/** What a run says at its end: each group's sum, the files that took longest, and what failed, by name. */
export const reportOf = (results: ReadonlyMap<string, readonly FileResult[]>): readonly string[] => {
  const all = [...results.values()].flat();
  const sums = [...results].map(([group, files]) => {
    const { passed, failed } = sumOf(files);
    const seconds = files.reduce((sum, file) => sum + file.seconds, 0);
    return `— ${group}: ${passed} passed, ${failed} failed, ${files.length} files, ${Math.round(seconds)} s of lanes`;
  });
  const failures = all.flatMap(({ file, failures: names }) => names.map((name) => `✖ ${file}: ${name}`));
  return [...sums, ...slowest(all), ...failures];
};

/** CPU is that of a file's own process and those it waited for: the programs of an instance go on by themselves and are not in it. */
const slowest = (files: readonly FileResult[]): readonly string[] => {
  if (files.length <= shown) return [];
  const rows = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, shown);
  return [
    "  wall s   CPU s  slowest files (CPU: of the file's process and those it waited for)",
    ...rows.map(
      ({ file, seconds, cpuSeconds }) =>
        `${seconds.toFixed(1).padStart(8)}${(cpuSeconds?.toFixed(1) ?? "?").padStart(8)}  ${file}`,
    ),
  ];
};

export const sumOf = (files: readonly Tally[]): Tally => ({
  passed: files.reduce((sum, file) => sum + file.passed, 0),
  failed: files.reduce((sum, file) => sum + file.failed, 0),
});
