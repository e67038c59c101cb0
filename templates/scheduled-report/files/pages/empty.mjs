import { html } from "../lib/html.mjs";
import { settings } from "../settings.mjs";
import { layout } from "./layout.mjs";

/** Until the first report. */
export const emptyPage = () =>
  layout({
    here: "newest",
    content: html`
      <div class="wrap stack">
        <h1>The first report comes tomorrow morning</h1>
        <p class="lead">
          It is made each day at 06:00 UTC, also when nobody looks: the computer is woken for it. You can have one now.
        </p>
        <form method="post" action="/reports"><button class="button">Make one now</button></form>
        <section class="card stack part" aria-labelledby="what-title">
          <h2 id="what-title">What will be in it</h2>
          <ul class="items">
            ${settings.sections.map(({ title }) => html`<li>${title}</li>`)}
          </ul>
          <p class="muted">Each is a small file in <code>sections/</code>; <code>settings.mjs</code> says which and in what order.</p>
        </section>
      </div>
    `,
  });
