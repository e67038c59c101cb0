import { html } from "../lib/html.mjs";
import { amount, span } from "../lib/words.mjs";
import { changeTag } from "./digest.mjs";
import { layout } from "./layout.mjs";

/** The newest digests; `count`: how many there are in all. */
export const listPage = (digests, count) =>
  layout({
    title: "All weeks",
    here: "all",
    content: html`
      <div class="wrap stack">
        <h1>All weeks</h1>
        <p class="lead">${count === 1 ? "One digest" : `${count} digests`} so far${count > digests.length && html`, the newest ${digests.length} of them here`}.</p>
        ${digests.length === 0 && html`<p><a class="button" href="/">Make the first one</a></p>`}
        <ol class="list">
          ${digests.map(
            ({ id, week, from, to, isSample, metrics }) => html`<li class="card week">
              <div>
                <h2><a href="/digests/${id}">Week ${week}</a></h2>
                <p class="small muted">${span(from, to)}${isSample && ", sample numbers"}</p>
              </div>
              <dl>
                ${metrics.map(
                  (metric) => html`<div>
                    <dt class="small muted">${metric.title}</dt>
                    <dd>${amount(metric.now, metric)} <span class="small">${changeTag(metric)}</span></dd>
                  </div>`,
                )}
              </dl>
            </li>`,
          )}
        </ol>
      </div>
    `,
  });
