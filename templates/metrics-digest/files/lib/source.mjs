import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseCsv } from "./csv.mjs";
import { sampleRows } from "./sample.mjs";
import { addDays, dayOf } from "./weeks.mjs";

/** A source that is larger is no day-by-day table any more. */
const bytesMax = 64 * 1024 * 1024;

/**
 * Rows of the days that a digest is about, `{ day, values }` with a number for each metric. Throws, in words for whoever reads the run's output,
 * when the source is not what `settings.mjs` says.
 */
export const readSource = (folder, settings, nowMs) => {
  const file = resolve(folder, settings.source);
  if (!existsSync(file)) return { rows: sampleRows(nowMs, (settings.weeks + 3) * 7), isSample: true };
  const table = /\.(sqlite3?|db)$/.test(file) ? fromDatabase(file, settings, nowMs) : fromCsv(file);
  return { rows: table.map((row) => rowOf(row, settings)), isSample: false };
};

const fromCsv = (file) => {
  const { size } = statSync(file);
  if (size > bytesMax)
    throw new Error(
      `${file} has ${size} bytes, more than ${bytesMax}: keep a row for each day, or use SQLite.`,
    );
  const [head, ...rows] = parseCsv(readFileSync(file, "utf8"));
  if (!head) throw new Error(`${file} is empty: its first line names the columns.`);
  const names = head.map((name) => name.trim());
  return rows.map((cells, index) => {
    if (cells.length !== names.length)
      throw new Error(
        `${file}, row ${index + 2}: ${cells.length} cells where the first line names ${names.length} columns.`,
      );
    return Object.fromEntries(names.map((name, at) => [name, cells[at].trim()]));
  });
};

const fromDatabase = (file, { query, weeks }, nowMs) => {
  // Read only: whatever the query says, it changes nothing.
  const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    const since = addDays(dayOf(nowMs), -(weeks + 3) * 7);
    const statement = db.prepare(query);
    return query.includes("?") ? statement.all(since) : statement.all();
  } finally {
    db.close();
  }
};

const rowOf = (row, { day, metrics, source }) => {
  const found = /^(\d{4}-\d{2}-\d{2})/.exec(String(row[day] ?? ""));
  if (!found)
    throw new Error(`${source}: \`${row[day] ?? ""}\` in the column ${day} is not a day such as 2026-11-30.`);
  const values = metrics.map(({ column }) => {
    if (!(column in row))
      throw new Error(`${source} has no column ${column}. It has: ${Object.keys(row).join(", ")}.`);
    const value = row[column] === "" || row[column] === null ? 0 : Number(row[column]);
    if (!Number.isFinite(value))
      throw new Error(`${source}, ${found[1]}: \`${row[column]}\` in the column ${column} is not a number.`);
    return [column, value];
  });
  return { day: found[1], values: Object.fromEntries(values) };
};
