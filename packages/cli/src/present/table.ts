import { printableLine } from "../terminal/printable.ts";
import { cut, hanging, widthOf } from "./lines.ts";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row, now: number) => string;
  /** Left out, the last one first, when the table is wider than the terminal. */
  readonly spare?: boolean;
}

/**
 * Columns side by side. When the terminal is too narrow, spare columns go, then the last one gives way; on a pipe (`width` undefined)
 * nothing is left out or cut.
 */
export const table = <Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  now: number,
  width: number | undefined,
): string => {
  const spare = columns.findLast((column) => column.spare);
  const cells = [
    columns.map((column) => column.head),
    ...rows.map((row) => columns.map((column) => printableLine(column.cell(row, now)))),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => widthOf(line[index] ?? ""))));
  const whole = widths.reduce((sum, each) => sum + each + 2, -2);
  if (width !== undefined && whole > width && spare) {
    return table(
      rows,
      columns.filter((column) => column !== spare),
      now,
      width,
    );
  }
  return cells
    .map((line) =>
      line
        .map((cell, index) => (index === line.length - 1 ? cell : pad(cell, widths[index] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${width === undefined ? line : cut(line, width)}\n`)
    .join("");
};

/** `name: value` lines, values aligned; long ones go on below themselves. */
export const card = (entries: readonly (readonly [string, string])[], width: number | undefined): string => {
  const widest = Math.max(...entries.map(([name]) => name.length)) + 2;
  return entries
    .map(([name, value]) => `${hanging(`${name}:`.padEnd(widest), printableLine(value), width)}\n`)
    .join("");
};

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)));
