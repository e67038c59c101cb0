import { printableLine } from "../terminal/printable.ts";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row, now: number) => string;
}

/** Columns side by side. The last one gives way when the terminal is too narrow; on a pipe nothing is cut. */
export const table = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  now: number,
  width: number | undefined,
): string => {
  const cells = [
    columns.map((column) => column.head),
    ...rows.map((row) => columns.map((column) => printableLine(column.cell(row, now)))),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => widthOf(line[index] ?? ""))));
  return cells
    .map((line) =>
      line
        .map((cell, index) => (index === line.length - 1 ? cell : pad(cell, widths[index] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .map((line) =>
      width === undefined || widthOf(line) <= width
        ? line
        : `${[...line].slice(0, Math.max(1, width - 1)).join("")}…`,
    )
    .map((line) => `${line}\n`)
    .join("");
};

/** `name: value` lines, values aligned. */
export const card = (entries: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...entries.map(([name]) => name.length)) + 1;
  return entries.map(([name, value]) => `${`${name}:`.padEnd(width)} ${printableLine(value)}\n`).join("");
};

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)));

/** Characters as a terminal counts them, well enough: code points, wide East Asian ones and emoji as two, marks as none. */
const widthOf = (text: string): number => {
  let width = 0;
  for (const character of text) {
    if (/\p{Mark}/u.test(character)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return width;
};
