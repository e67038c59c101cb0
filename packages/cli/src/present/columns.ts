import { formatAge, formatBytes, formatDuration } from "../lib/units.ts";
import type { Column } from "./table.ts";

/** What columns of tables and lines of cards are made of. */
export type Row = Readonly<Record<string, unknown>>;

export interface List {
  /** The field that holds the rows. */
  readonly rows: string;
  readonly columns: readonly Column<Row>[];
  readonly empty: string;
}

export const text = (key: string, head = heading(key)): Column<Row> => ({
  head,
  cell: (row) => show(row[key]),
});
export const age = (key: string, head: string): Column<Row> => ({
  head,
  cell: (row, now) => (typeof row[key] === "string" ? formatAge(row[key], now) : "-"),
});
export const size = (key: string, head: string): Column<Row> => ({
  head,
  cell: (row) => (typeof row[key] === "number" ? formatBytes(row[key]) : "-"),
});
export const span = (key: string, head: string): Column<Row> => ({
  head,
  cell: (row) => (typeof row[key] === "number" ? formatDuration(row[key]) : "-"),
});
/** Worth leaving out for the others on a narrow terminal. */
export const spare = (column: Column<Row>): Column<Row> => ({ ...column, spare: true });

export const show = (value: unknown): string => {
  if (value === null || value === undefined) return "-";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return words(value);
  if (isRecord(value)) return pairs(value);
  return JSON.stringify(value);
};

export const pairs = (value: unknown): string =>
  isRecord(value)
    ? Object.entries(value)
        .map(([key, item]) => `${key}=${show(item)}`)
        .join(" ")
    : "-";

export const words = (value: unknown): string => (Array.isArray(value) ? value.join(" ") : "-");
export const isRecord = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function heading(key: string): string {
  return key.replaceAll("_", " ").toUpperCase();
}
