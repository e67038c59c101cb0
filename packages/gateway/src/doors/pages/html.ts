import { createHash } from "node:crypto";
import type { Page } from "./page.ts";

const style = `
:root{color-scheme:light dark;--paper:#f6f5f1;--card:#fff;--ink:#1d2422;--soft:#5c6663;--line:#dedcd3;--accent:#1f6f5c}
@media (prefers-color-scheme:dark){:root{--paper:#141817;--card:#1c2221;--ink:#e6ebe8;--soft:#9aa6a1;--line:#2e3734;--accent:#6fc7ae}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.25rem;background:var(--paper);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{width:100%;max-width:34rem;background:var(--card);border:1px solid var(--line);border-radius:14px;padding:clamp(1.4rem,5vw,2.4rem)}
.wide{max-width:56rem}
.code{margin:0 0 .4rem;color:var(--soft);font-size:.85rem;letter-spacing:.04em;font-variant-numeric:tabular-nums}
h1{margin:0 0 .8rem;font-size:clamp(1.35rem,4.5vw,1.7rem);line-height:1.25;text-wrap:balance}
p{margin:0 0 .8rem;overflow-wrap:anywhere}
p:last-child{margin-bottom:0}
.action{margin-top:1.4rem}
.action a{display:inline-block;padding:.6rem 1.1rem;border-radius:9px;background:var(--accent);color:var(--card);text-decoration:none;font-weight:600}
.action a:focus-visible{outline:3px solid var(--ink);outline-offset:2px}
pre{margin:1.2rem 0 0;padding:1rem;max-height:55vh;overflow:auto;background:var(--paper);border:1px solid var(--line);border-radius:9px;
font:.82rem/1.5 ui-monospace,"Cascadia Mono","DejaVu Sans Mono",monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.wait{height:3px;margin:1.4rem 0 0;border-radius:2px;background:linear-gradient(90deg,var(--line) 40%,var(--accent) 50%,var(--line) 60%) 0 0/300% 100%;animation:wait 1.6s linear infinite}
@keyframes wait{from{background-position:100% 0}to{background-position:0 0}}
@media (prefers-reduced-motion:reduce){.wait{animation:none}}
`;

/** No scripts, no pictures, nothing from elsewhere; nobody frames it. */
export const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The one template of all pages. */
export const renderHtml = (page: Page): string => {
  const refresh =
    page.refreshes && page.retryAfterS !== undefined
      ? `<meta http-equiv="refresh" content="${page.retryAfterS}">`
      : "";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${refresh}<title>${escape(page.title)}</title>
<style>${style}</style>
</head>
<body>
<main${page.log === undefined ? "" : ' class="wide"'}>
<p class="code">${page.status}</p>
<h1>${escape(page.title)}</h1>
${page.text.map((text) => `<p>${escape(text)}</p>`).join("\n")}
${page.link ? `<p class="action"><a href="${escape(page.link.href)}" rel="noreferrer">${escape(page.link.label)}</a></p>` : ""}${
  page.log === undefined
    ? ""
    : `<pre tabindex="0" aria-label="Last lines of the service">${escape(page.log)}</pre>`
}${page.refreshes ? '<div class="wait" role="presentation"></div>' : ""}
</main>
</body>
</html>
`;
};

const escape = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    // oxlint-disable-next-line no-control-regex -- a service's log may hold any byte; only line ends and tabs are shown
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
