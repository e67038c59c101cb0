import { sha256 } from "../../lib/digest.ts";
import { pageStyle } from "./page-style.ts";

/** What a browser gets at the root of the API: where it is, and nothing about this instance. */
export const frontPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Holdfast</title>
<style>${pageStyle}</style>
</head>
<body>
<main>
<h1>This is the API of Holdfast</h1>
<p class="lead">Holdfast gives every assistant a durable computer, and its owner the controls. Assistants and the <code>holdfast</code> command talk
to this address.</p>
<section>
<h2>What it can do</h2>
<p><a href="/reference">/reference</a> describes every operation and every error; <a href="/openapi.json">/openapi.json</a> does the same for programs.</p>
</section>
<section>
<h2>For assistants</h2>
<p>MCP clients connect to <code>/mcp</code> at this address, with an assistant's key as <code>Authorization: Bearer</code>. This prints the configuration of
yours:</p>
<pre><code>holdfast mcp config --help</code></pre>
</section>
<section>
<h2>You came for a project</h2>
<p>Projects have addresses of their own. <a href="/sign-in">How to sign in to one</a></p>
</section>
</main>
</body>
</html>
`;

/** One style, which is written in the page; nothing that runs, loads or is sent. */
export const frontPolicy = `default-src 'none'; style-src 'sha256-${sha256(pageStyle).toString("base64")}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
