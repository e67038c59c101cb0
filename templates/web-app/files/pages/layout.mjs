import { html } from "../lib/html.mjs";
import { frame } from "./frame.mjs";

/** What every page of this site has around its content. */
export const layout = ({ title, script, content }) =>
  frame({
    title,
    script,
    content,
    name: "Web app",
    beside: html`<nav aria-label="Pages">
          <ul>
            <li><a href="/api/state">JSON</a></li>
          </ul>
        </nav>`,
    note: "Made on a server, kept alive by a stream",
  });
