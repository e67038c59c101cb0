/** One line, at most `longest` characters. */
export const clip = (text: string, longest: number): string => {
  // Cut first: over a long run of spaces the search below takes its square.
  const line = text.slice(0, 2 * longest).replaceAll(/\s*\n\s*/g, " ⏎ ");
  const isWhole = text.length <= 2 * longest && line.length <= longest;
  return isWhole ? line : `${line.slice(0, longest - 1)}…`;
};

export const bytes = (count: number): string => {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const power = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log2(count) / 10));
  return `${power === 0 ? count : (count / 1024 ** power).toFixed(1)} ${units[power] ?? ""}`;
};

export const moreAt = (tool: string, cursor: string | null): readonly string[] =>
  cursor === null ? [] : [`There are more: ${tool} with cursor ${JSON.stringify(cursor)}.`];
