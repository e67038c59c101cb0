import { addDays, mondayOf, weekOf } from "./weeks.mjs";

/**
 * What the last whole week of the rows came to, beside the week before and the weeks before that. Throws when there is no whole week. A day
 * without a row counts as 0.
 */
export const digestOf = (rows, { metrics, weeks }) => {
  const days = addUp(rows);
  const last = [...days.keys()].reduce((latest, day) => (day > latest ? day : latest), "");
  const first = [...days.keys()].reduce((earliest, day) => (day < earliest ? day : earliest), last);
  const monday = addDays(mondayOf(addDays(last || "1970-01-05", 1)), -7);
  if (last === "" || monday < mondayOf(first))
    throw new Error(
      "There is no whole week in the numbers yet: it needs the days from a Monday to a Sunday.",
    );
  const { year, week } = weekOf(monday);
  const shown = Math.min(weeks, 1 + Math.round((Date.parse(monday) - Date.parse(mondayOf(first))) / weekMs));
  return {
    id: `${year}-w${String(week).padStart(2, "0")}`,
    year,
    week,
    from: monday,
    to: addDays(monday, 6),
    metrics: metrics.map((metric) => metricOf(days, metric, monday, shown)),
  };
};

const weekMs = 7 * 86_400_000;

const addUp = (rows) => {
  const days = new Map();
  for (const { day, values } of rows) {
    const sum = days.get(day) ?? {};
    for (const [column, value] of Object.entries(values)) sum[column] = (sum[column] ?? 0) + value;
    days.set(day, sum);
  }
  return days;
};

const metricOf = (days, { column, title, total, good, format }, monday, shown) => {
  const on = (day) => days.get(day)?.[column] ?? 0;
  const ofWeek = (from) => Array.from({ length: 7 }, (_, index) => on(addDays(from, index)));
  const come = (values) => values.reduce((sum, value) => sum + value, 0) / (total === "mean" ? 7 : 1);
  const before = addDays(monday, -7);
  const trend = Array.from({ length: shown }, (_, index) => {
    const from = addDays(monday, (index - shown + 1) * 7);
    return { week: weekOf(from).week, from, total: come(ofWeek(from)) };
  });
  const now = come(ofWeek(monday));
  const then = shown > 1 ? come(ofWeek(before)) : null;
  return {
    column,
    title,
    total,
    good,
    format,
    now,
    before: then,
    /** A part of the week before; null where that was nothing. */
    change: then === null || then === 0 ? null : (now - then) / then,
    days: ofWeek(monday).map((value, index) => ({
      day: addDays(monday, index),
      value,
      before: shown > 1 ? on(addDays(before, index)) : null,
    })),
    weeks: trend,
  };
};
