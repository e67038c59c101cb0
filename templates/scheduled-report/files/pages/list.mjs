import { html } from "../lib/html.mjs";
import { layout } from "./layout.mjs";
import { headline, longDay } from "./report.mjs";

/** The newest reports; `count`: how many there are in all. */
export const listPage = (reports, count) =>
  layout({
    title: "All days",
    here: "all",
    content: html`
      <div class="wrap stack narrow">
        <h1>All days</h1>
        <p class="lead">${count === 1 ? "One report" : `${count} reports`} so far${count > reports.length && html`, the newest ${reports.length} of them here`}.</p>
        ${reports.length === 0 && html`<p><a class="button" href="/">Make the first one</a></p>`}
        <ol class="list">
          ${reports.map(
            ({ id, sections }) => html`<li class="card">
              <h2><a href="/reports/${id}">${longDay(id)}</a></h2>
              <p class="muted">${headline(sections)}</p>
            </li>`,
          )}
        </ol>
      </div>
    `,
  });
