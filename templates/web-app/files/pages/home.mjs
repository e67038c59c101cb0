import { html } from "../lib/html.mjs";
import { layout } from "./layout.mjs";

/** The page is whole without its script; with it, the numbers move by themselves. */
export const homePage = ({ waves, watching, time }) =>
  layout({
    title: "Web app",
    script: "/app.js",
    content: html`
      <div class="wrap stack">
        <div class="stack intro">
          <h1>Wave to everyone who is here</h1>
          <p class="lead">Open this page twice, side by side. A wave on one is seen on the other in the same moment.</p>
        </div>

        <div class="board">
          <section class="card count" aria-labelledby="count-title">
            <h2 id="count-title">Waves so far</h2>
            <p class="number" id="waves" aria-live="polite">${waves}</p>
            <form method="post" action="/waves" id="wave">
              <button class="button">Wave</button>
            </form>
          </section>

          <section class="card fact" aria-labelledby="clock-title">
            <h2 id="clock-title">The server’s clock</h2>
            <p class="clock"><time id="clock" datetime="${time}">${time.slice(11, 19)}</time> <span>UTC</span></p>
            <p class="small muted" id="stream">As it was when this page was made</p>
          </section>

          <section class="card fact" aria-labelledby="watching-title">
            <h2 id="watching-title">Pages open now</h2>
            <p class="clock" id="watching">${watching}</p>
            <p class="small muted">A page in the background does not count</p>
          </section>
        </div>

        <section class="stack part" aria-labelledby="how-title">
          <h2 id="how-title">What answers</h2>
          <dl class="card addresses">
            <div>
              <dt><code>GET /</code></dt>
              <dd>This page, made on the server</dd>
            </div>
            <div>
              <dt><code>GET /api/state</code></dt>
              <dd>The same numbers as JSON</dd>
            </div>
            <div>
              <dt><code>POST /api/waves</code></dt>
              <dd>One wave more</dd>
            </div>
            <div>
              <dt><code>GET /live</code></dt>
              <dd>A stream of events: the numbers, every second and after each wave</dd>
            </div>
          </dl>
        </section>
      </div>
    `,
  });
