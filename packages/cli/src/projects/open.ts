import { type OperationOutput, operations } from "@holdfast/contract";
import { call, type Override } from "../commands/from-operation.ts";
import { CliError } from "../errors.ts";
import { print } from "../present/index.ts";
import { openBrowser, openerOf } from "./browser.ts";

type Link = OperationOutput<"project.open">;

/** `projects open`: the browser, signed in. The link is a secret that works once: it is printed only where no browser took it. */
export const openOverride: Override = {
  description:
    "Opens the project in your browser, signed in as its owner. Without a browser (no display, no terminal, --json, --no-browser) it prints the link instead: it works once, within a minute, and signs that browser in for 12 hours.",
  extend: (command) => command.option("--no-browser", "Print the link instead of opening it"),
  run: async ({ app, input, values }) => {
    const output = (await call(app, operations["project.open"], input)) as Link;
    const url = checkedLink(output.url);
    const wanted = values["browser"] !== false && !app.json && app.console.stderrIsTty;
    const opener = wanted ? openerOf(process.platform, app.environment) : undefined;
    if (opener && (await openBrowser(opener, url.href)))
      return app.console.say(`Opened ${url.origin}/ in your browser.`);
    if (app.json) return print(app, "project.open", output);
    if (opener) app.console.say(`No browser could be opened with ${opener[0]}.`);
    app.console.say("Open this once, within a minute:");
    await app.console.out(`${url.href}\n`);
  },
};

/** It goes to a program of this machine as an argument. */
const checkedLink = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new CliError("The link is not usable", "It is no web address.", "Ask who runs this Holdfast.");
};
