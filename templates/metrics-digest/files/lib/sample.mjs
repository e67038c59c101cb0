import { addDays, dayOf } from "./weeks.mjs";

/**
 * Numbers of a shop that does not exist, up to yesterday: quiet at weekends, growing slowly, the same for a day whenever it is asked. They stand
 * in until there is a source.
 */
export const sampleRows = (nowMs, days) =>
  Array.from({ length: days }, (_, index) => {
    const day = addDays(dayOf(nowMs), index - days);
    const number = Math.floor(Date.parse(day) / 86_400_000);
    const weekday = (number + 3) % 7;
    const season = 1 + 0.12 * Math.sin(number / 11) + 0.0012 * (number % 365);
    const visits = Math.round(900 * week[weekday] * season * (0.9 + 0.2 * chance(number)));
    const signups = Math.round(visits * (0.03 + 0.012 * chance(number + 7)));
    const orders = Math.round(visits * (0.018 + 0.009 * chance(number + 13)));
    const revenue = Math.round(orders * (38 + 14 * chance(number + 29)) * 100) / 100;
    return { day, values: { visits, signups, orders, revenue } };
  });

/** Monday to Sunday. */
const week = [1.08, 1.12, 1.15, 1.1, 0.98, 0.7, 0.76];

/** From 0 to 1, the same for the same number. */
const chance = (seed) => {
  const wave = Math.sin(seed * 127.1) * 43_758.5453;
  return wave - Math.floor(wave);
};
