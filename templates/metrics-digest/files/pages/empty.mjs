import { html } from "../lib/html.mjs";
import { layout } from "./layout.mjs";

/** Until the first digest. */
export const emptyPage = () =>
  layout({
    here: "newest",
    content: html`
      <div class="wrap stack">
        <h1>The first digest comes on Monday</h1>
        <p class="lead">
          It is made each Monday at 06:00 UTC about the week before, also when nobody looks: the computer is woken for it. Until then you can
          have one now, from sample numbers or from your own.
        </p>
        <form method="post" action="/digests"><button class="button">Make one now</button></form>
        <section class="card stack part" aria-labelledby="own-title">
          <h2 id="own-title">Your own numbers</h2>
          <p>
            Put a CSV file at <code>data/metrics.csv</code>, with a line of column names and one line for each day:
          </p>
          <pre tabindex="0"><code>day,visits,signups,orders,revenue
2026-11-23,1204,41,23,1180.50
2026-11-24,1311,38,31,1502.00</code></pre>
          <p>Or name an SQLite database and a query in <code>settings.mjs</code>. Which columns matter stands there too.</p>
        </section>
      </div>
    `,
  });
