import { html } from "../lib/html.mjs";
import { kinds } from "../lib/form.mjs";
import { formOf } from "./form.mjs";
import { layout } from "./layout.mjs";

export const boardPage = ({ feedback, total, sort, page, pages, voted, values = {}, errors = {} }) =>
  layout({
    title: Object.keys(errors).length > 0 ? "Please check · Feedback board" : "Feedback board",
    content: html`
      <div class="wrap columns">
        <section class="stack side" aria-labelledby="write-title">
          <h1>What should be better?</h1>
          <p class="lead">Ideas, problems and praise are all welcome. Vote for what matters to you as well.</p>
          ${formOf(values, errors)}
        </section>
        <section class="stack" aria-labelledby="list-title">
          <div class="bar">
            <h2 id="list-title">${total === 1 ? "1 voice" : `${total} voices`}</h2>
            ${total > 1 && sorting(sort)}
          </div>
          ${feedback.length > 0 ? list(feedback, voted, { sort, page }) : nothing(total)}
          ${pages > 1 && paging({ sort, page, pages })}
        </section>
      </div>
    `,
  });

const sorting = (sort) => {
  const one = (key, label) =>
    html`<li><a href="/?sort=${key}" ${sort === key && html`aria-current="true"`}>${label}</a></li>`;
  return html`<nav aria-label="Order">
    <ul>
      ${one("new", "Newest")} ${one("top", "Most votes")}
    </ul>
  </nav>`;
};

const list = (feedback, voted, { sort, page }) =>
  html`<ol class="list">
    ${feedback.map(
      ({
        id,
        kind,
        text,
        author,
        votes,
        created_at: createdAt,
      }) => html`<li class="card voice" id="feedback-${id}">
        <form method="post" action="/feedback/${id}/vote?sort=${sort}&amp;page=${page}">
          <button class="vote" ${voted.has(id) && html`disabled`}>
            <span class="arrow" aria-hidden="true"></span>
            <strong>${votes}</strong>
            <span class="hidden">${votes === 1 ? "vote" : "votes"}, ${voted.has(id) ? "one is yours" : "add yours"}</span>
          </button>
        </form>
        <div class="words">
          <p class="meta small muted">
            <span class="tag ${kind}">${kinds[kind]}</span> <span class="author">${author || "Anonymous"}</span>
            <time datetime="${createdAt.toISOString()}">${dayOf(createdAt)}</time>
          </p>
          <p class="said">${text}</p>
        </div>
      </li>`,
    )}
  </ol>`;

const nothing = (total) =>
  html`<div class="card empty stack">
    <h3>${total === 0 ? "Nothing here yet" : "There is no such page"}</h3>
    <p class="muted">${total === 0 ? "Be the first: it takes one sentence." : html`<a href="/">To the first page</a>`}</p>
  </div>`;

const paging = ({ sort, page, pages }) =>
  html`<nav class="pages" aria-label="Pages">
    ${page > 1 && html`<a class="button quiet" href="/?sort=${sort}&amp;page=${page - 1}" rel="prev">Back</a>`}
    <span class="muted">Page ${page} of ${pages}</span>
    ${page < pages && html`<a class="button quiet" href="/?sort=${sort}&amp;page=${page + 1}" rel="next">On</a>`}
  </nav>`;

const dayOf = (date) =>
  date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
