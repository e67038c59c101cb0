import { limits } from "@holdfast/contract";

/**
 * Where gateway's page sends people who came to a project without a right. `to` is the host they came to, as they sent it: the page says the
 * same whether there is a project or not, and repeats nothing that has not the form of a project's host.
 */
export const signInPage = (about: {
  readonly to: string | undefined;
  readonly projectsAddress: URL;
}): string => {
  const came = projectOf(about.to ?? "", about.projectsAddress);
  const open = `holdfast projects open ${came?.slug ?? "&lt;slug&gt;"}${came?.port === undefined ? "" : ` --port ${came.port}`}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sign in to a project: Holdfast</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Sign in to a project</h1>
<p class="lead">${
    came === undefined
      ? "If there is a project at the address you came from, it is not open to everyone."
      : `If there is a project at <strong>${came.host}</strong>, it is not open to everyone.`
  }</p>
<section>
<h2>You own it</h2>
<p>Open it from a terminal. It asks for your passphrase, makes a link that works once, within a minute, and signs this browser in:</p>
<pre><code>${open}</code></pre>
<p>On another machine than this browser, copy the link that it prints.</p>
</section>
<section>
<h2>Somebody shared it with you</h2>
<p>Open the link you were given once more: it signs this browser in again, until it expires. Then ask for a new one.</p>
</section>
<section>
<h2>Your program calls it</h2>
<p>Send an assistant's key, or an owner's session, in the header <code>Holdfast-Key</code>. The project never sees it.</p>
</section>
</main>
</body>
</html>
`;
};

interface Came {
  /** Safe in HTML: letters, digits, hyphens, dots, colons. */
  readonly host: string;
  readonly slug: string;
  readonly port: string | undefined;
}

const projectOf = (host: string, projectsAddress: URL): Came | undefined => {
  const suffix = `.${projectsAddress.host}`;
  const lower = host.toLowerCase();
  if (!lower.endsWith(suffix)) return undefined;
  const [, port, slug] =
    /^(?:([1-9][0-9]{0,4})--)?([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$/.exec(lower.slice(0, -suffix.length)) ?? [];
  return slug === undefined || slug.length > limits.slugLength ? undefined : { host: lower, slug, port };
};

const style = `
:root { color-scheme: light dark; --ground: light-dark(#f6f5f2, #16171a); --sheet: light-dark(#fff, #1f2125);
  --ink: light-dark(#1c1d20, #ececea); --soft: light-dark(#5c5e66, #a5a7ad); --line: light-dark(#e2e0da, #34373d); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 38rem; margin: 0 auto; padding: clamp(2rem, 8vh, 6rem) 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .75rem; }
.lead { color: var(--soft); margin: 0 0 2rem; }
.lead strong { color: var(--ink); overflow-wrap: anywhere; }
section { background: var(--sheet); border: 1px solid var(--line); border-radius: .75rem; padding: 1.1rem 1.25rem; margin: 0 0 1rem; }
h2 { font-size: 1.05rem; margin: 0 0 .35rem; }
section p { margin: 0; color: var(--soft); }
pre { margin: .8rem 0; padding: .7rem .9rem; border-radius: .5rem; background: var(--ground); border: 1px solid var(--line); overflow-x: auto; }
code { font: .92em ui-monospace, "DejaVu Sans Mono", monospace; color: var(--ink); }
`;
