import { html } from "../lib/html.mjs";
import { layout } from "./layout.mjs";

export const errorPage = (status, message) =>
  layout({
    title: String(status),
    content: html`
      <div class="wrap stack">
        <p><span class="tag">${status}</span></p>
        <h1>That did not work</h1>
        <p class="lead">${message}</p>
        <p><a class="button" href="/">To the newest report</a></p>
      </div>
    `,
  });
