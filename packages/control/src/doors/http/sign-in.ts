import { limits } from "@holdfast/contract";
import { pageStyle } from "./page-style.ts";

/**
 * Where gateway's page sends people who came to a project without a right. `to` is the host they came to, as they sent it: the page says the
 * same whether there is a project or not, and repeats nothing that has not the form of a project's host.
 */
export const signInPage = (about: {
  readonly to: string | undefined;
  readonly projectsAddress: URL;
}): string => {
  const came = projectOf(about.to ?? "", about.projectsAddress);
  const places = `&lt;slug&gt;.${about.projectsAddress.host}`;
  const open = `holdfast projects open ${came?.slug ?? "&lt;slug&gt;"}${came?.port === undefined ? "" : ` --port ${came.port}`}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sign in to a project: Holdfast</title>
<style>${pageStyle}</style>
</head>
<body>
<main>
<h1>Sign in to a project</h1>
<p class="lead">${
    came === undefined
      ? `Projects are at <strong>${places}</strong>, each at an address of its own.`
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
  const suffix = `.${projectsAddress.hostname}`;
  const lower = host.toLowerCase();
  // By whatever port: it may have been forwarded.
  const name = lower.replace(/:[0-9]{1,5}$/, "");
  if (!name.endsWith(suffix)) return undefined;
  const [, port, slug] =
    /^(?:([1-9][0-9]{0,4})--)?([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$/.exec(name.slice(0, -suffix.length)) ?? [];
  return slug === undefined || slug.length > limits.slugLength ? undefined : { host: lower, slug, port };
};
