/** One line, at most `longest` characters. */
export const clip = (text: string, longest: number): string => {
  const line = text.replaceAll(/\s*\n\s*/g, " ⏎ ");
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};

export const bytes = (count: number): string => {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const power = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log2(count) / 10));
  return `${power === 0 ? count : (count / 1024 ** power).toFixed(1)} ${units[power] ?? ""}`;
};

export const moreAt = (tool: string, cursor: string | null): readonly string[] =>
  cursor === null ? [] : [`There are more: ${tool} with cursor ${JSON.stringify(cursor)}.`];
