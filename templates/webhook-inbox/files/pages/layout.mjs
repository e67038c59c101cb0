import { html } from "../lib/html.mjs";

/** The frame of every page. */
export const layout = ({ title, content }) => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <link rel="icon" href="/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/base.css" />
    <link rel="stylesheet" href="/style.css" />
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header class="masthead">
      <div class="wrap bar">
        <a class="brand" href="/"><img src="/icon.svg" alt="" />Webhook inbox</a>
        <form method="post" action="/test"><button class="button quiet">Send a test</button></form>
      </div>
    </header>
    <main id="content">${content}</main>
    <footer class="foot">
      <div class="wrap bar">
        <p>The newest 500 hooks are kept, each up to 256 KB</p>
        <p><a href="/healthz">Health</a></p>
      </div>
    </footer>
  </body>
</html>
`;
