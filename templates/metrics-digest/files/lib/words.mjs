/** Numbers and dates as the pages write them. */
export const amount = (value, { format }) =>
  new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1, ...format }).format(value);

/** The same, short enough for the side of a chart: 1.2K, €12K. */
export const shortAmount = (value, { format }) =>
  new Intl.NumberFormat("en-GB", { ...format, notation: "compact", maximumFractionDigits: 1 }).format(value);

/** `+12%`, or `0%`. */
export const percent = (change) => {
  const rounded = Math.round(change * 100);
  return `${rounded > 0 ? "+" : rounded < 0 ? "−" : ""}${Math.abs(rounded)}%`;
};

/** `up`, `down` or `level`: less than half a percent is level. */
export const direction = (change) =>
  change === null || Math.round(change * 100) === 0 ? "level" : change > 0 ? "up" : "down";

/** `23 – 29 November 2026`, and across months or years as far as it takes. */
export const span = (from, to) =>
  new Intl.DateTimeFormat("en-GB", { ...date, dateStyle: "long" }).formatRange(new Date(from), new Date(to));

export const weekday = (day, style) => new Date(day).toLocaleDateString("en-GB", { ...date, weekday: style });

export const longDay = (day) =>
  new Date(day).toLocaleDateString("en-GB", { ...date, weekday: "long", day: "numeric", month: "long" });

/** What a reader in a hurry takes away, one sentence for each metric. */
export const sentences = ({ metrics }) =>
  metrics.map((metric) => {
    const { title, now, change, days } = metric;
    const best = days.reduce((one, other) => (other.value > one.value ? other : one));
    const moved = {
      up: () => `, ${percent(change)} on the week before`,
      down: () => `, ${percent(change)} on the week before`,
      level: () => (change === null ? "" : ", as the week before"),
    }[direction(change)]();
    return `${title}: ${amount(now, metric)}${moved}; most on ${weekday(best.day, "long")} (${amount(best.value, metric)}).`;
  });

const date = { timeZone: "UTC" };
