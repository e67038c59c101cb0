import { html } from "../lib/html.mjs";
import { amount, longDay, shortAmount, weekday } from "../lib/words.mjs";

/**
 * Charts as SVG that is stretched to its place; words and numbers stand beside it as text, so they are as large on a phone as on a desk. Colours
 * come from the style sheet by class: the policy in `lib/serve.mjs` takes no styles inside a page.
 */
export const dayChart = (metric) => {
  const { days, title } = metric;
  const compares = days.every(({ before }) => before !== null);
  const top = niceTop(Math.max(...days.flatMap(({ value, before }) => [value, before ?? 0])));
  const height = (value) => round((Math.max(0, value) / top) * plot);
  const bar = (kind, x, width, value, words) =>
    html`<rect class="${kind}" x="${x}" y="${plot - height(value)}" width="${width}" height="${height(value)}"><title>${words}</title></rect>`;
  return html`<div class="plot">
    <ol class="scale" aria-hidden="true"><li>${shortAmount(top, metric)}</li><li>${shortAmount(top / 2, metric)}</li><li>0</li></ol>
    <div class="area">
      <svg viewBox="0 0 700 ${plot}" preserveAspectRatio="none" role="img" aria-label="${title}, day by day">
        ${[0, 0.5].map((part) => html`<line class="grid-line" x1="0" x2="700" y1="${round(plot * part)}" y2="${round(plot * part)}" />`)}
        ${days.map(({ day, value, before }, index) => [
          compares &&
            bar(
              "then",
              index * 100 + 14,
              30,
              before,
              `A week before ${longDay(day)}: ${amount(before, metric)}`,
            ),
          bar(
            "now",
            index * 100 + (compares ? 48 : 24),
            compares ? 38 : 52,
            value,
            `${longDay(day)}: ${amount(value, metric)}`,
          ),
        ])}
        <line class="base-line" x1="0" x2="700" y1="${plot}" y2="${plot}" />
      </svg>
      <ol class="under" aria-hidden="true">
        ${days.map(({ day }) => html`<li>${weekday(day, "short")}</li>`)}
      </ol>
    </div>
  </div>`;
};

/** The weeks up to this one as columns, this one in full colour. */
export const weekChart = (metric) => {
  const { weeks, title } = metric;
  const top = Math.max(...weeks.map(({ total }) => total), 0) || 1;
  const slot = 240 / weeks.length;
  return html`<svg class="weeks" viewBox="0 0 240 60" preserveAspectRatio="none" role="img" aria-label="${title} in the last ${weeks.length} weeks">
    ${weeks.map(({ week, total }, index) => {
      const tall = round(Math.max(1, (Math.max(0, total) / top) * 60));
      const kind = index === weeks.length - 1 ? "now" : "then";
      return html`<rect class="${kind}" x="${round(index * slot + slot * 0.12)}" y="${round(60 - tall)}" width="${round(slot * 0.76)}" height="${tall}"><title>Week ${week}: ${amount(total, metric)}</title></rect>`;
    })}
  </svg>`;
};

const plot = 220;

const round = (value) => Math.round(value * 100) / 100;

/** The next of 1, 2, 2.5, 5 and 10 times a power of ten: the scale's numbers are round. */
export const niceTop = (most) => {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((one) => one >= most) ?? 10 * power;
};
