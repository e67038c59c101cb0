import { html } from "../lib/html.mjs";
import { frame } from "./frame.mjs";

/** What every page of this site has around its content. */
export const layout = ({ title, content }) =>
  frame({
    title,
    content,
    name: "Webhook inbox",
    beside: html`<form method="post" action="/test"><button class="button quiet">Send a test</button></form>`,
    note: "The newest 500 hooks are kept, each up to 256 KB",
  });
