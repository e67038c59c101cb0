import { cut } from "../present/lines.ts";
import { printableLine } from "../terminal/printable.ts";
import type { Seen } from "./collect.ts";
import { codes, painted, summaryOf, tableOf } from "./frame.ts";

export interface PageState {
  /** Undefined until the first answer. */
  readonly seen: readonly Seen[] | undefined;
  /** Why there is no answer now. */
  readonly trouble: string | undefined;
  readonly place: string;
  readonly scrolled: number;
  readonly now: number;
  readonly answeredAtMs: number;
  readonly color: boolean;
  readonly columns: number;
  readonly rows: number;
}

/** One screen of `top`: where, when, how many; the table; what is further down. `scrolled` comes back within what there is. */
export const pageOf = (
  state: PageState,
): { readonly lines: readonly string[]; readonly scrolled: number } => {
  const { seen, columns, rows, color } = state;
  const head = [
    between(`holdfast top  ${printableLine(state.place)}`, timeOf(state.now), columns),
    statusOf(state),
    "",
  ];
  const table =
    seen === undefined || seen.length === 0
      ? undefined
      : tableOf(seen, { now: state.now, width: columns, color });
  if (!table) {
    const words = seen === undefined ? "" : "No computers. Make one: holdfast computers create <name>";
    return {
      lines: [...head, cut(words, columns), "", painted(cut(keysHelp, columns), codes.quiet, color)],
      scrolled: 0,
    };
  }
  const [first = "", second = "", ...body] = table;
  const room = Math.max(1, rows - head.length - 3);
  const scrolled = Math.max(0, Math.min(state.scrolled, body.length - room));
  const below = Math.max(0, body.length - room - scrolled);
  const foot = [
    ...(scrolled > 0 ? [`${scrolled} above`] : []),
    ...(below > 0 ? [`${below} more below`] : []),
    keysHelp,
  ].join("   ");
  return {
    lines: [
      ...head,
      first,
      second,
      ...body.slice(scrolled, scrolled + room),
      painted(cut(foot, columns), codes.quiet, color),
    ],
    scrolled,
  };
};

const keysHelp = "arrow keys scroll, q ends";

const statusOf = ({ seen, trouble, now, answeredAtMs, columns, color }: PageState): string => {
  if (trouble !== undefined) {
    const since = seen === undefined ? "" : ` What is below is of ${timeOf(answeredAtMs)}.`;
    return painted(cut(`${trouble}; trying again.${since}`, columns), codes.bad, color);
  }
  if (seen === undefined) return now - answeredAtMs < 1000 ? "" : "Waiting for the first answer.";
  return cut(summaryOf(seen, now), columns);
};

/** The two at the ends of a line. */
const between = (left: string, right: string, columns: number): string => {
  const room = columns - right.length - 2;
  if (room < 10) return cut(left, columns);
  const told = cut(left, room);
  return `${told.padEnd(room)}  ${right}`;
};

const timeOf = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);
