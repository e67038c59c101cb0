import { resolve } from "node:path";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { checkedUrl, sameAddress } from "../config/contexts.ts";
import { card, table } from "../present/table.ts";
import { usageError } from "./from-operation.ts";

/** `contexts`: which Holdfast, with which key. `holdfast up` writes the first one. */
export const addContexts = (program: Command, app: App): void => {
  const contexts = program.command("contexts").summary("Choose which Holdfast to talk to");
  contexts
    .command("list")
    .summary("List contexts")
    .action(async () => {
      const config = await app.store.read();
      const rows = Object.entries(config.contexts).map(([name, context]) => ({
        name,
        current: name === config.current,
        ...context,
      }));
      if (app.json) return app.console.out(`${JSON.stringify({ contexts: rows })}\n`);
      if (rows.length === 0) return app.console.say("No contexts. `holdfast up` writes one.");
      const columns = [
        { head: "", cell: (row: (typeof rows)[number]) => (row.current ? "*" : "") },
        { head: "NAME", cell: (row: (typeof rows)[number]) => row.name },
        { head: "URL", cell: (row: (typeof rows)[number]) => row.url },
        { head: "KEY FILE", cell: (row: (typeof rows)[number]) => row.key_file ?? "-" },
        { head: "OWNER", cell: (row: (typeof rows)[number]) => row.owner ?? "-" },
      ];
      await app.console.out(table(rows, columns, app.now(), app.console.width));
    });
  contexts
    .command("show")
    .summary("Show the context in use")
    .action(async () => {
      const { name, context } = await app.context();
      if (app.json) return app.console.out(`${JSON.stringify({ name, ...context })}\n`);
      await app.console.out(
        card(
          Object.entries({ name, ...context }).map(
            ([key, value]) => [key.replaceAll("_", " "), String(value)] as const,
          ),
          app.console.width,
        ),
      );
    });
  contexts
    .command("use")
    .summary("Use another context from now on")
    .argument("<name>", "The context")
    .action(async (name: string) => {
      await app.store.change((config) => {
        if (!config.contexts[name]) throw unknown(name, Object.keys(config.contexts));
        return { ...config, current: name };
      });
      app.console.say(`Using ${name}.`);
    });
  contexts
    .command("add")
    .summary("Add or replace a context")
    .description("Adds a context. --url and --key-file are the general options; the key stays in its file.")
    .argument("<name>", "What to call it")
    .action(async (name: string) => {
      const { keyFile } = app.options;
      const url = app.options.url === undefined ? undefined : checkedUrl(app.options.url);
      if (url === undefined)
        throw usageError(
          "There is no address",
          "A context needs --url.",
          "The address is printed by `holdfast status`.",
        );
      const key = keyFile === undefined ? {} : { key_file: resolve(keyFile) };
      if (keyFile !== undefined) await app.store.readKey(resolve(keyFile));
      const { current } = await app.store.change((config) => {
        const before = config.contexts[name];
        // What belongs to an address, key and owner, does not move to another one.
        const kept = before && sameAddress(before.url, url) ? before : {};
        return {
          ...config,
          current: Object.keys(config.contexts).length === 0 ? name : config.current,
          contexts: { ...config.contexts, [name]: { ...kept, url, ...key } },
        };
      });
      app.console.say(`Added ${name}.`);
      if (current !== name)
        app.console.say(`In use is ${current}; \`holdfast contexts use ${name}\` switches.`);
    });
  contexts
    .command("remove")
    .summary("Forget a context; its key file stays")
    .argument("<name>", "The context")
    .action(async (name: string) => {
      const { contexts, current } = await app.store.change((config) => {
        const { [name]: gone, ...others } = config.contexts;
        if (!gone) throw unknown(name, Object.keys(config.contexts));
        return { ...config, contexts: others };
      });
      app.console.say(`Removed ${name}.`);
      const left = Object.keys(contexts);
      if (!contexts[current] && left.length > 0) {
        // Not one of them by itself: the next verb may destroy something.
        app.console.say(`No context is in use now. Choose: holdfast contexts use <${left.join("|")}>`);
      }
    });
};

const unknown = (name: string, known: readonly string[]): Error =>
  usageError(
    `There is no context ${name}`,
    `Known: ${known.join(", ") || "none"}.`,
    "See `holdfast contexts list`.",
  );
