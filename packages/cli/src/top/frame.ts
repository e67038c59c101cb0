import { formatAge } from "../lib/units.ts";
import { cut, widthOf } from "../present/lines.ts";
import { printableLine } from "../terminal/printable.ts";
import type { Seen } from "./collect.ts";
import { nextOf, type Row, rowsOf, type Tone } from "./rows.ts";

export interface Paper {
  /** Unix milliseconds: what comes and what was is told from here. */
  readonly now: number;
  /** Undefined: nobody looks, nothing is cut. */
  readonly width: number | undefined;
  readonly color: boolean;
}

/** Two lines of heads: what stands in the columns for a computer, and for what is on it. */
const heads = [
  ["COMPUTER", "STATE", "CPU", "MEMORY", "DISK"],
  ["  PROJECT, SERVICE, SCHEDULE", "STATE", "RST", "VISIBILITY", "ADDRESS"],
] as const;

/** The table as lines, its heads first. Everything that came from computers is made harmless. */
export const tableOf = (seen: readonly Seen[], paper: Paper): readonly string[] => {
  const narrow = paper.width !== undefined && paper.width < 100;
  const rows = rowsOf(seen, paper.now).map((row) => ({ row, cells: cellsOf(row, narrow) }));
  // What is told of a schedule is cut rather than the names of all.
  const told = rows.flatMap(({ row, cells = [] }) => [row.kind === "schedule" ? cells.slice(0, -1) : cells]);
  const widths = widthsOf([...heads, ...told], paper);
  return [
    ...heads.map((cells) => line(cells, widths, paper, () => codes.head)),
    ...rows.map(({ row, cells }) => {
      if (row.kind === "reason")
        return painted(cutTo(printableLine(row.text), paper.width), codes.bad, paper.color);
      if (row.kind === "more")
        return painted(cutTo(printableLine(row.text), paper.width), codes.quiet, paper.color);
      return line(cells ?? [], widths, paper, (index) => {
        if (index === 0 && row.kind === "computer") return codes.head;
        return index === 1 ? codes[row.tone] : "";
      });
    }),
  ];
};

/** How many there are and how they do, and what runs next. */
export const summaryOf = (seen: readonly Seen[], now: number): string => {
  const rows = rowsOf(seen, now);
  const failed = (kind: "computer" | "service"): number =>
    rows.filter((row) => row.kind === kind && row.state === "failed").length;
  const [awake, asleep, archived] = (["awake", "asleep", "archived"] as const).map(
    (state) => seen.filter(({ computer }) => computer.state === state).length,
  );
  const projects = seen.flatMap((one) => one.projects);
  const published = projects.filter(({ visibility }) => visibility === "published").length;
  return [
    several(seen.length, "computer", { failed: failed("computer"), awake, asleep, archived }),
    several(projects.length, "project", { published }),
    several(rows.filter(({ kind }) => kind === "service").length, "service", { failed: failed("service") }),
    ...nextSlot(seen, now),
  ].join("  ");
};

/** `next slot in 3 min (nightly)`. */
const nextSlot = (seen: readonly Seen[], now: number): readonly string[] => {
  const [first] = seen
    .flatMap(({ schedules }) => schedules)
    .toSorted((one, other) => nextOf(one) - nextOf(other));
  const at = first?.next_slot ?? null;
  return first === undefined || at === null
    ? []
    : [`next slot ${formatAge(at, now)} (${printableLine(first.name)})`];
};

export const painted = (text: string, code: string, color: boolean): string =>
  color && text !== "" && code !== "" ? `\x1b[${code}m${text}\x1b[0m` : text;

export const codes = {
  head: "1",
  good: "32",
  busy: "33",
  bad: "31",
  quiet: "2",
} as const satisfies Readonly<Record<Tone | "head", string>>;

/** `3 computers (2 awake, 1 failed)`: what is none is left out of the brackets. */
const several = (
  count: number,
  word: string,
  notes: Readonly<Record<string, number | undefined>>,
): string => {
  const told = Object.entries(notes).flatMap(([note, of = 0]) => (of === 0 ? [] : [`${of} ${note}`]));
  return `${count} ${word}${count === 1 ? "" : "s"}${told.length === 0 ? "" : ` (${told.join(", ")})`}`;
};

const cellsOf = (row: Row, narrow: boolean): readonly string[] | undefined => {
  if (row.kind === "reason" || row.kind === "more") return undefined;
  if (row.kind === "schedule") return [row.name, row.state, "-", "-", row.when];
  if (row.kind === "computer") return [row.name, row.state, ...row.usage];
  const address = narrow ? row.address.replace(/^https?:\/\/|\/$/g, "") : row.address;
  return [row.name, row.state, row.restarts, row.visibility, address];
};

/** Of all columns but the last, which takes what is left. On a terminal long names give way to it. */
const widthsOf = (lines: readonly (readonly string[])[], { width }: Paper): readonly number[] => {
  const widest = [0, 1, 2, 3, 4].map((index) =>
    Math.max(...lines.map((cells) => widthOf(printableLine(cells[index] ?? "")))),
  );
  const [names = 0, states = 0, third = 0, fourth = 0, last = 0] = widest;
  if (width === undefined) return [names, states, third, fourth];
  const left = width - states - third - fourth - last - 4 * gapWidth;
  const most = Math.max(fewestForNames, Math.min(Math.floor(width * 0.35), left));
  return [Math.min(names, most), states, third, fourth];
};

const gapWidth = 2;
const fewestForNames = 18;

const line = (
  cells: readonly string[],
  widths: readonly number[],
  { width, color }: Paper,
  codeOf: (index: number) => string,
): string => {
  let left = width;
  let text = "";
  cells.forEach((cell, index) => {
    const room = Math.min(widths[index] ?? Number.POSITIVE_INFINITY, left ?? Number.POSITIVE_INFINITY);
    const shown = cutTo(printableLine(cell), room);
    const gap = index === cells.length - 1 ? 0 : (widths[index] ?? 0) - widthOf(shown) + gapWidth;
    text += painted(shown, codeOf(index), color) + " ".repeat(Math.max(0, gap));
    if (left !== undefined) left = Math.max(0, left - widthOf(shown) - gap);
  });
  return text.trimEnd();
};

const cutTo = (text: string, width: number | undefined): string => {
  if (width === undefined) return text;
  return width <= 0 ? "" : cut(text, width);
};
