import { html } from "../lib/html.mjs";
import { layout } from "./layout.mjs";

/** The page of one day. `newer` and `older`: ids of the reports beside it, where there are any. */
export const reportPage = (report, { newer, older }) => {
  const { id, madeAt, since, sections } = report;
  return layout({
    title: id,
    here: newer === undefined ? "newest" : undefined,
    content: html`
      <div class="wrap stack narrow">
        <div class="stack intro">
          <h1>${longDay(id)}</h1>
          <p class="lead">${headline(sections)}</p>
        </div>
        ${sections.map(
          (
            section,
            index,
          ) => html`<section class="card stack ${kindOf(section)}" aria-labelledby="section-${index}">
            <div class="bar">
              <h2 id="section-${index}">${section.title}</h2>
              ${stateTag(section)}
            </div>
            <p class="summary">${section.summary}</p>
            ${section.items?.length > 0 && html`<ul class="items">${section.items.map((item) => html`<li>${item}</li>`)}</ul>`}
            ${section.table && table(section.table, `section-${index}`)}
          </section>`,
        )}
        <div class="bar">
          <p class="small muted">
            Made ${minute(madeAt)} UTC about what was since ${minute(since)} · <a href="/reports/${id}.md">Markdown</a> ·
            <a href="/reports/${id}.json">JSON</a>
          </p>
          <form method="post" action="/reports"><button class="button quiet">Make today’s again</button></form>
        </div>
        <nav class="beside" aria-label="Other days">
          ${older && html`<a class="button quiet" href="/reports/${older}" rel="prev">The day before</a>`}
          ${newer && html`<a class="button quiet" href="/reports/${newer}" rel="next">The day after</a>`}
        </nav>
      </div>
    `,
  });
};

/** What asks for somebody first; when nothing does, that. */
export const headline = (sections) => {
  const failed = sections.filter((section) => section.failed).map(({ title }) => title);
  const waiting = sections.filter((section) => section.attention).map(({ title }) => title);
  const parts = [
    ...(failed.length > 0 ? [`Not found out: ${failed.join(", ")}.`] : []),
    ...(waiting.length > 0 ? [`Needs you: ${waiting.join(", ")}.`] : []),
  ];
  return parts.join(" ") || "Nothing needs you today.";
};

export const longDay = (id) =>
  new Date(id).toLocaleDateString("en-GB", {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });

const kindOf = ({ failed, attention }) => (failed ? "failed" : attention ? "attention" : "calm");

const stateTag = (section) =>
  ({
    failed: html`<span class="tag state failed">Failed</span>`,
    attention: html`<span class="tag state attention">Needs you</span>`,
    calm: html`<span class="tag state">In order</span>`,
  })[kindOf(section)];

const table = (
  { head, rows },
  label,
) => html`<div class="wide" tabindex="0" role="region" aria-labelledby="${label}">
  <table>
    <thead>
      <tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr>
    </thead>
    <tbody>
      ${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
    </tbody>
  </table>
</div>`;

const minute = (time) => time.slice(0, 16).replace("T", " ");
