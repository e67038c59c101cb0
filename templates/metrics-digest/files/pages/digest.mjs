import { html } from "../lib/html.mjs";
import { amount, direction, percent, sentences, span, weekday } from "../lib/words.mjs";
import { dayChart, weekChart } from "./charts.mjs";
import { layout } from "./layout.mjs";

/** The page of one week. `newer` and `older`: ids of the digests beside it, where there are any. */
export const digestPage = (digest, { newer, older }) => {
  const { week, from, to, isSample, metrics, madeAt, id } = digest;
  const [lead, ...others] = metrics;
  return layout({
    title: `Week ${week}`,
    here: newer === undefined ? "newest" : undefined,
    content: html`
      <div class="wrap stack">
        <div class="stack intro">
          <p class="tag">Week ${week}</p>
          <h1>${span(from, to)}</h1>
          <ul class="lead points">
            ${sentences(digest).map((sentence) => html`<li>${sentence}</li>`)}
          </ul>
        </div>
        ${isSample && sampleNote}
        <div class="figures">${metrics.map(figure)}</div>

        <section class="card stack" aria-labelledby="days-title">
          <div class="bar">
            <h2 id="days-title">${lead.title}, day by day</h2>
            ${legend(lead)}
          </div>
          ${dayChart(lead)}
        </section>
        <div class="grid small-charts">
          ${others.map(
            (metric) => html`<section class="card stack" aria-labelledby="${metric.column}-title">
              <h2 id="${metric.column}-title">${metric.title}</h2>
              ${dayChart(metric)}
            </section>`,
          )}
        </div>

        <section class="card stack" aria-labelledby="numbers-title">
          <h2 id="numbers-title">In numbers</h2>
          ${table(metrics)}
        </section>

        <div class="bar">
          <p class="small muted">Made ${madeAt.slice(0, 16).replace("T", " ")} UTC · <a href="/digests/${id}.json">these numbers as JSON</a></p>
          <form method="post" action="/digests"><button class="button quiet">Make the newest again</button></form>
        </div>
        <nav class="beside" aria-label="Other weeks">
          ${older && html`<a class="button quiet" href="/digests/${older}" rel="prev">The week before</a>`}
          ${newer && html`<a class="button quiet" href="/digests/${newer}" rel="next">The week after</a>`}
        </nav>
      </div>
    `,
  });
};

/** What a change is called, and whether it is good news: by colour and by sign and word, for who sees no colours. */
export const changeTag = ({ change, good }) => {
  if (change === null) return html`<span class="change level">new</span>`;
  const way = direction(change);
  const kind = way === "level" ? "level" : way === good ? "good" : "bad";
  const arrow = { up: "▲", down: "▼", level: "■" }[way];
  return html`<span class="change ${kind}"><span aria-hidden="true">${arrow}</span> ${percent(change)}</span>`;
};

const figure = (metric) => html`<section class="card figure" aria-labelledby="figure-${metric.column}">
  <h2 id="figure-${metric.column}">${metric.title}</h2>
  <p class="number">${amount(metric.now, metric)}</p>
  <p class="small muted">${changeTag(metric)} ${metric.before !== null && html`from ${amount(metric.before, metric)}`}</p>
  ${weekChart(metric)}
</section>`;

const sampleNote = html`<aside class="card note">
  <p>
    <strong>These are sample numbers.</strong> Put your own into <code>data/metrics.csv</code>, or name a database in
    <code>settings.mjs</code>; the next digest is made of them.
  </p>
</aside>`;

const legend = ({ days }) =>
  days.every(({ before }) => before !== null) &&
  html`<ul class="legend small">
    <li><span class="swatch then" aria-hidden="true"></span>The week before</li>
    <li><span class="swatch now" aria-hidden="true"></span>This week</li>
  </ul>`;

const table = (metrics) => html`<div class="wide" tabindex="0" role="region" aria-labelledby="numbers-title">
  <table>
    <thead>
      <tr>
        <th scope="col">Day</th>
        ${metrics.map(({ title }) => html`<th scope="col" class="amount">${title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${metrics[0].days.map(
        ({ day }, index) => html`<tr>
          <th scope="row"><time datetime="${day}">${weekday(day, "short")} ${Number(day.slice(8))}</time></th>
          ${metrics.map((metric) => html`<td class="amount">${amount(metric.days[index].value, metric)}</td>`)}
        </tr>`,
      )}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row">Week</th>
        ${metrics.map((metric) => html`<td class="amount">${amount(metric.now, metric)}</td>`)}
      </tr>
    </tfoot>
  </table>
</div>`;
