import { errorTable, type Operation, operationNames, operations } from "@holdfast/contract";
import { z } from "zod";
import { errorsOf } from "./openapi.ts";

/** The reference page: every operation and every error code, readable without scripts. */
export const referencePage = (about: { readonly version: string }): string => {
  const nouns = [...new Set(operationNames.map((name) => operations[name].command.noun))];
  const index = nouns
    .map(
      (noun) =>
        `<li>${escape(noun)}: ${of(noun)
          .map((one) => link(one.name))
          .join(" · ")}</li>`,
    )
    .join("\n");
  const sections = nouns
    .map((noun) => `<h2 id="${escape(noun)}">${escape(noun)}</h2>\n${of(noun).map(section).join("\n")}`)
    .join("\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast ${escape(about.version)}: reference</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Holdfast reference</h1>
<p>Version ${escape(about.version)}. Send <code>Authorization: Bearer &lt;key&gt;</code>. The same operations are MCP tools at <code>/mcp</code>
and verbs of the command line; <a href="/openapi.json">/openapi.json</a> describes them to programs.</p>
<ul>
${index}
<li><a href="#errors">errors</a></li>
</ul>
${sections}
<h2 id="errors">Errors</h2>
<p>Problem details (RFC 9457): <code>code</code> is one of these, <code>detail</code> says what happened, <code>remedy</code> what to do next.</p>
<table>
<thead><tr><th>code</th><th>status</th><th>whose</th><th>retry</th><th>what, and what to do</th></tr></thead>
<tbody>
${Object.entries(errorTable).map(errorRow).join("\n")}
</tbody>
</table>
</main>
</body>
</html>
`;
};

const of = (noun: string): readonly Operation[] =>
  operationNames.map((name): Operation => operations[name]).filter((one) => one.command.noun === noun);

const link = (name: string): string => `<a href="#${escape(name)}">${escape(name)}</a>`;

const section = (operation: Operation): string => {
  const facts = [
    `class ${operation.consequence}`,
    ...(operation.scope === "principal"
      ? []
      : [operation.scope === "owner" ? "owners only" : "no credential"]),
    ...(operation.confirm ? ["asks for the passphrase again after five minutes"] : []),
    ...(operation.idempotent ? ["takes Idempotency-Key"] : []),
    ...(operation.versioned ? ["answers ETag"] : []),
    ...(operation.reply === "json" ? [] : [`answers ${operation.reply}`]),
    ...(operation.tool === null ? [] : [`MCP tool ${operation.tool}`]),
    `holdfast ${operation.command.noun} ${operation.command.verb}`,
  ];
  const errors = errorsOf(operation).map((code) => `<a href="#${code}">${code}</a>`);
  return `<section id="${escape(operation.name)}">
<h3>${escape(operation.title)} <small>${escape(operation.name)}</small></h3>
<p><code>${operation.route.method} ${escape(operation.route.path)}</code></p>
<p>${text(operation.description)}</p>
<p class="facts">${facts.map(escape).join(" · ")}</p>
${fields(operation)}
<p class="errors">Errors: ${errors.join(", ")}</p>
</section>`;
};

const fields = (operation: Operation): string => {
  const schema = z.toJSONSchema(operation.input, { io: "input", unrepresentable: "any" });
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    if (typeof property === "boolean") return "";
    const fallback =
      property.default === undefined
        ? ""
        : `, default <code>${escape(JSON.stringify(property.default))}</code>`;
    return `<tr><td><code>${escape(name)}</code></td><td>${escape(typeName(property))}</td><td>${
      required.has(name) ? "required. " : ""
    }${text(property.description ?? "")}${fallback}</td></tr>`;
  });
  return rows.length === 0
    ? ""
    : `<table><thead><tr><th>field</th><th>type</th><th></th></tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
};

const typeName = (property: {
  readonly type?: unknown;
  readonly enum?: readonly unknown[] | undefined;
}): string => {
  if (property.enum) return property.enum.map(String).join(" | ");
  return typeof property.type === "string" ? property.type : "any";
};

const errorRow = ([code, one]: [string, (typeof errorTable)[keyof typeof errorTable]]): string =>
  `<tr id="${code}"><td><code>${code}</code></td><td>${one.status}</td><td>${one.fault}</td><td>${
    one.retryable ? "yes" : "no"
  }</td><td>${text(one.title)}. ${text(one.remedy)}</td></tr>`;

const escape = (raw: string): string =>
  raw.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Escaped prose; words in backticks become code. */
const text = (raw: string): string => escape(raw).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 6rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); text-transform: capitalize; }
section { margin: 2rem 0; }
small { font-weight: normal; opacity: .7; }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere; }
td:first-child code { overflow-wrap: normal; }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 12%, transparent); }
.facts, .errors { font-size: .9em; opacity: .8; }
:target { background: color-mix(in srgb, Highlight 18%, transparent); }
`;
