import { html } from "../lib/html.mjs";

/** What a page says when something went wrong. `back`: what stands on the way to the first page. */
export const problem = ({ status, message, back }) => html`
  <div class="wrap stack">
    <p><span class="tag">${status}</span></p>
    <h1>That did not work</h1>
    <p class="lead">${message}</p>
    <p><a class="button" href="/">${back}</a></p>
  </div>
`;
