import { html } from "../lib/html.mjs";
import { settings } from "../settings.mjs";
import { frame } from "./frame.mjs";

/** What every page of this site has around its content. */
export const layout = ({ title, here, content }) =>
  frame({
    title: title === undefined ? settings.title : `${title} · ${settings.title}`,
    content,
    name: settings.title,
    beside: html`<nav aria-label="Pages">
          <ul>
            <li><a href="/" ${here === "newest" && html`aria-current="page"`}>Newest</a></li>
            <li><a href="/reports" ${here === "all" && html`aria-current="page"`}>All days</a></li>
            <li><a href="/feed.xml">Feed</a></li>
          </ul>
        </nav>`,
    note: "Made each morning at 06:00 UTC",
  });
