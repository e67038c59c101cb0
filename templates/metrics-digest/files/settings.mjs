/** Where the numbers come from, and which of them matter. Everything that is yours to change is here. */
export const settings = {
  title: "Metrics digest",

  /**
   * A CSV file with a line of column names, or an SQLite database (its name ends in .sqlite or .db). While there is none, sample numbers
   * take its place, and the page says so.
   */
  source: "data/metrics.csv",
  /** Of a database: one row a day, with the columns below. Rows of the same day are added up. */
  query: "select day, visits, signups, orders, revenue from metrics where day >= ?",

  /** The column with the day, as 2026-11-30; what comes after the day (a time) is left out. */
  day: "day",

  /**
   * The first one gets the large chart. `total`: how days become a week, `sum` or `mean`. `format`: how a number is written, as
   * Intl.NumberFormat takes it. `good`: which way is good news, `up` or `down`.
   */
  metrics: [
    { column: "visits", title: "Visits", total: "sum", good: "up", format: {} },
    { column: "signups", title: "Sign-ups", total: "sum", good: "up", format: {} },
    { column: "orders", title: "Orders", total: "sum", good: "up", format: {} },
    {
      column: "revenue",
      title: "Revenue",
      total: "sum",
      good: "up",
      format: { style: "currency", currency: "EUR", maximumFractionDigits: 0 },
    },
  ],

  /** How many weeks the small charts show, and how many digests are kept. */
  weeks: 12,
  keep: 260,
};
