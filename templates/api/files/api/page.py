"""The page at /: what the API answers, written from its routes."""

import json
import re
from html import escape

from .routing import Route, Routes


def page_of(routes: Routes) -> str:
    return PAGE.replace("<!-- routes -->", "\n".join(section(route) for route in routes.all))


def section(route: Route) -> str:
    title, *more = route.words
    path = re.sub(r"(\{\w+\})", r"<em>\1</em>", escape(route.path))
    if route.try_it:
        path = f'<a href="{escape(route.path)}">{path}</a>'
    paragraphs = "".join(f"<p>{marked(text)}</p>" for text in more)
    example = f"<pre><code>{escape(json.dumps(route.body, indent=2))}</code></pre>" if route.body else ""
    return f"""
        <section class="card route">
          <h3>{escape(title)}</h3>
          <p class="call"><span class="method {route.method.lower()}">{route.method}</span> <code>{path}</code>
            <span class="small muted">answers {route.status}</span></p>
          {paragraphs}{example}
        </section>"""


def marked(text: str) -> str:
    """Text with `words` between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Notes API</title>
    <link rel="icon" href="/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/base.css" />
    <link rel="stylesheet" href="/style.css" />
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header class="masthead">
      <div class="wrap bar">
        <a class="brand" href="/"><img src="/icon.svg" alt="" />Notes API</a>
        <nav aria-label="Pages">
          <ul>
            <li><a href="#routes">Routes</a></li>
            <li><a href="#errors">Errors</a></li>
            <li><a href="/api/notes">JSON</a></li>
          </ul>
        </nav>
      </div>
    </header>
    <main id="content">
      <div class="wrap columns">
        <div class="stack side">
          <h1>Notes, by JSON</h1>
          <p class="lead">Write, list, read, replace and delete short notes. They are kept in a database beside the program.</p>
          <h2>Try it</h2>
          <pre tabindex="0"><code>curl "$ADDRESS/api/notes" \\
  -H 'content-type: application/json' \\
  -d '{"title": "Low tide"}'</code></pre>
          <p class="small muted"><code>$ADDRESS</code> is where this page is. While that is private, a key goes along: <code>-H "holdfast-key: $KEY"</code>.</p>
        </div>
        <div class="stack" id="routes">
          <h2>Routes</h2><!-- routes -->
          <section class="stack errors" id="errors">
            <h2>Errors</h2>
            <p>What goes wrong is answered as <code>application/problem+json</code>, with a status that fits:</p>
            <pre tabindex="0"><code>{
  "type": "about:blank",
  "title": "Not a note",
  "status": 422,
  "detail": "Some fields are not as they must be.",
  "errors": { "title": "must be a text of 1 to 120 characters" }
}</code></pre>
          </section>
        </div>
      </div>
    </main>
    <footer class="foot">
      <div class="wrap bar">
        <p>Python’s standard library, and nothing else</p>
        <p><a href="/healthz">Health</a></p>
      </div>
    </footer>
  </body>
</html>
"""
