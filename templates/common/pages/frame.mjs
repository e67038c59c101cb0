import { html } from "../lib/html.mjs";

/** What is the same around every page. `layout.mjs` says what is this site's own: its name, what stands beside it, the note at the foot. */
export const frame = ({ title, script, name, beside, content, note }) => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <link rel="icon" href="/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/base.css" />
    <link rel="stylesheet" href="/style.css" />
    ${script && html`<script type="module" src="${script}"></script>`}
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header class="masthead">
      <div class="wrap bar">
        <a class="brand" href="/"><img src="/icon.svg" alt="" />${name}</a>
        ${beside}
      </div>
    </header>
    <main id="content">${content}</main>
    <footer class="foot">
      <div class="wrap bar">
        <p>${note}</p>
        <p><a href="/healthz">Health</a></p>
      </div>
    </footer>
  </body>
</html>
`;
