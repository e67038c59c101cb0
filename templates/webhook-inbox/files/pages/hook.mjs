import { html } from "../lib/html.mjs";
import { shown, sizeOf, timeOf } from "../lib/show.mjs";
import { layout } from "./layout.mjs";

/** One hook. Its body is text between tags and nothing else, whatever it holds. */
export const hookPage = ({ id, name, receivedAt, headers, size, body }) => {
  const { kind, text, cut } = shown(body);
  return layout({
    title: `${name} ${id} · Webhook inbox`,
    content: html`
      <div class="wrap stack">
        <p><a href="/">Inbox</a></p>
        <div class="bar">
          <h1>${name} <span class="muted">${id}</span></h1>
          <div class="actions">
            <a class="button quiet" href="/hooks/${id}/body">Download</a>
            <form method="post" action="/delete/${id}"><button class="button quiet alarm">Delete</button></form>
          </div>
        </div>
        <p class="muted">
          Received <time datetime="${receivedAt.toISOString()}">${timeOf(receivedAt)} UTC</time>, ${sizeOf(size)}
        </p>
        <section class="stack" aria-labelledby="body-title">
          <h2 id="body-title">Body <span class="tag">${kind}</span></h2>
          ${
            size > 0
              ? html`<pre class="body" tabindex="0"><code>${text}</code></pre>`
              : html`<p class="muted">It has none.</p>`
          }
          ${cut && html`<p class="small muted">This is its beginning. Download it to see all.</p>`}
        </section>
        <section class="stack" aria-labelledby="headers-title">
          <h2 id="headers-title">Headers</h2>
          ${
            Object.keys(headers).length > 0
              ? html`<dl class="card headers">
                ${Object.entries(headers).map(
                  ([header, value]) => html`<div>
                    <dt><code>${header}</code></dt>
                    <dd>${value}</dd>
                  </div>`,
                )}
              </dl>`
              : html`<p class="muted">None that is kept.</p>`
          }
          <p class="small muted">Headers that may hold credentials are not kept.</p>
        </section>
      </div>
    `,
  });
};
