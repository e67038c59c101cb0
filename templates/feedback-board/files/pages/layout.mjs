import { html } from "../lib/html.mjs";
import { frame } from "./frame.mjs";

/** What every page of this site has around its content. */
export const layout = ({ title, content }) =>
  frame({
    title,
    content,
    name: "Feedback board",
    beside: html`<nav aria-label="Pages">
          <ul>
            <li><a href="/feedback.json">JSON</a></li>
          </ul>
        </nav>`,
    note: "Everyone who can open this page can read it and write on it",
  });
