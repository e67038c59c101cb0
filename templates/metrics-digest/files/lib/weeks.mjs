/** Days are texts such as `2026-11-30`: they sort, and no time zone moves them. Weeks begin on Monday (ISO 8601). */
export const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

export const addDays = (day, count) => dayOf(Date.parse(day) + count * 86_400_000);

/** The Monday on or before. */
export const mondayOf = (day) => addDays(day, -((new Date(day).getUTCDay() + 6) % 7));

/** `{ year, week }`: a week belongs to the year that its Thursday is in. */
export const weekOf = (day) => {
  const thursday = addDays(mondayOf(day), 3);
  const year = Number(thursday.slice(0, 4));
  const first = mondayOf(`${year}-01-04`);
  const week = Math.round((Date.parse(mondayOf(day)) - Date.parse(first)) / (7 * 86_400_000)) + 1;
  return { year, week };
};
