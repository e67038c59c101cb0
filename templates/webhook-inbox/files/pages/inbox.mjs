import { html } from "../lib/html.mjs";
import { preview, sizeOf, timeOf } from "../lib/show.mjs";
import { layout } from "./layout.mjs";

export const inboxPage = ({ hooks, names, older, origin, name, before }) =>
  layout({
    title: "Webhook inbox",
    content: html`
      <div class="wrap stack">
        <h1>Inbox</h1>
        ${names.length > 0 && filters(names, name)}
        ${hooks.length > 0 ? list(hooks) : nothing(name ?? before)}
        ${pages({ older, name, before })}
        <section class="stack part" aria-labelledby="send-title">
          <h2 id="send-title">Send something here</h2>
          <p class="muted">
            Give this address to whoever sends webhooks; its last part is a name of your choice, one for each sender. Others reach it
            once <code>POST</code> on <code>/hooks/*</code> is published. Reading stays private.
          </p>
          <pre tabindex="0"><code>curl ${origin}/hooks/orders \\
  -H 'content-type: application/json' \\
  -d '{"event": "order.paid", "total": 1200}'</code></pre>
        </section>
      </div>
    `,
  });

const filters = (names, chosen) => {
  const one = (label, href, isChosen) =>
    html`<li><a class="tag" href="${href}" ${isChosen && html`aria-current="page"`}>${label}</a></li>`;
  return html`<nav aria-label="Names">
    <ul class="filters">
      ${one("All", "/", chosen === undefined)}
      ${names.map(({ name, count }) => one(`${name} ${count}`, `/?name=${encodeURIComponent(name)}`, name === chosen))}
    </ul>
  </nav>`;
};

const list = (hooks) =>
  html`<ol class="card hooks">
    ${hooks.map(
      ({ id, name, receivedAt, headers, size, body }) => html`<li id="hook-${id}">
        <a href="/hooks/${id}">
          <span class="tag">${name}</span>
          <span class="preview">${preview(body) || "Empty"}</span>
          <span class="facts small muted"
            ><span>${headers["content-type"]?.split(";")[0] ?? "no type"}</span> <span>${sizeOf(size)}</span>
            <time datetime="${receivedAt.toISOString()}">${timeOf(receivedAt)}</time></span
          >
        </a>
      </li>`,
    )}
  </ol>`;

const nothing = (isNarrowed) =>
  html`<div class="card empty stack">
    <h2>${isNarrowed ? "Nothing here" : "Nothing has arrived yet"}</h2>
    <p class="muted">
      ${isNarrowed ? "No hook fits." : "What is posted here shows up in this place. Try it with the button above, or with the line below."}
    </p>
  </div>`;

const pages = ({ older, name, before }) => {
  const query = (fields) =>
    new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== undefined));
  return (
    (older || before) &&
    html`<nav class="pages" aria-label="Pages">
      ${before && html`<a class="button quiet" href="/?${query({ name })}">Newest</a>`}
      ${older && html`<a class="button quiet" href="/?${query({ name, before: older })}">Older</a>`}
    </nav>`
  );
};
