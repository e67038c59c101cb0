import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import type { App } from "../app.ts";
import { CliError, exitCodes } from "../errors.ts";
import { type ClientName, clientNames, clients, type Connection } from "./clients.ts";
import { install } from "./install.ts";

/** `mcp`: the stdio bridge, and the configuration of assistants. */
export const addMcp = (program: Command, app: App): void => {
  const mcp = program
    .command("mcp")
    .summary("Serve MCP on standard input and output, or configure an assistant")
    .description(
      "Without a verb: serves the tools of a running Holdfast to an MCP client on standard input and output, with the key of the context.",
    )
    .action(async () => {
      const { context } = await app.context();
      const key = await app.key();
      // The protocol is most of what this program weighs: other verbs start without it.
      const [{ serveBridge }, { DrainingStdio }] = await Promise.all([
        import("./bridge.ts"),
        import("./draining-stdio.ts"),
      ]);
      const transport = new DrainingStdio(process.stdin, process.stdout);
      const bridge = serveBridge(
        {
          url: mcpUrl(context.url),
          key,
          version: packageJson.version,
          onError: (error) => app.console.say(`holdfast mcp: ${error.message}`),
        },
        transport,
      );
      const told = once(process, "SIGTERM", "SIGINT");
      await Promise.race([once(process.stdin, "end", "close").then(() => transport.drained(drainMs)), told]);
      await bridge.close();
    });
  mcp
    .command("config")
    .summary("Print or install the configuration of an MCP client")
    .description(
      "Prints the block that connects a client. --write puts it into the client's own file: a backup is kept, what else is there stays, and a file that cannot be understood is not touched.",
    )
    .addOption(new Option("--client <name>", "Which client").choices([...clientNames]).makeOptionMandatory())
    .addOption(
      new Option(
        "--transport <kind>",
        "http: the client connects itself and its file holds the key; stdio: through `holdfast mcp`, the key stays in its own file",
      ).choices(["http", "stdio"]),
    )
    .option("--name <name>", "What the client calls it", "holdfast")
    .option("--write", "Install it")
    .option("--file <path>", "The client's file, when it is not in its usual place")
    .action(
      async (values: {
        client: ClientName;
        transport?: "http" | "stdio";
        name: string;
        write?: boolean;
        file?: string;
      }) => {
        const client = clients[values.client];
        if (values.transport === "http" && !client.http) {
          throw new CliError(
            `${client.title} cannot connect itself`,
            "Its file takes programs only.",
            "Leave --transport out.",
            exitCodes.usage,
          );
        }
        const kind = values.transport ?? (client.http ? "http" : "stdio");
        const block = client.block(checkedName(values.name), await connectionOf(app, kind));
        if (values.write !== true) {
          await app.console.out(block.text);
          app.console.say(
            `For ${client.title}: ${values.file ?? client.place(app.environment)}. --write puts it there.`,
          );
          if (block.holdsKey)
            app.console.say("It holds the key; --transport stdio leaves the key in its own file.");
          else if (kind === "http") app.console.say(await askedFor(app, client.title));
          return;
        }
        const path = values.file ?? client.place(app.environment);
        const { backup } = await install(path, block);
        app.console.say(
          `${client.title} is configured in ${path}.${backup === undefined ? "" : ` What was there is in ${backup}.`}`,
        );
        if (block.holdsKey)
          app.console.say(
            "The file holds the key now: it is readable by you alone; keep it out of version control.",
          );
        if (kind === "http" && !block.holdsKey) app.console.say(await askedFor(app, client.title));
        app.console.hint(client.next);
      },
    );
};

/** For a client that asks for the key itself: where whoever is asked finds it. */
const askedFor = async (app: App, title: string): Promise<string> => {
  const { context } = await app.context();
  const file = app.options.keyFile ?? (context.key_file && app.store.keyPath(context.key_file));
  const where = file === undefined || file === "-" ? "as you gave it" : `in ${file}`;
  return `It holds no key: ${title} asks for it once. The key is ${where}.`;
};

/** How long answers may still come after the input has ended: longer than most tools take, shorter than anybody waits for a program. */
const drainMs = 30_000;

/** The first of these events. */
const once = (emitter: NodeJS.EventEmitter, ...events: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    for (const event of events) emitter.once(event, () => resolve());
  });

const connectionOf = async (app: App, kind: "http" | "stdio"): Promise<Connection> => {
  const { name, context } = await app.context();
  if (kind === "http") return { kind, url: mcpUrl(context.url), key: await app.key() };
  const entry = process.argv[1];
  if (entry === undefined) throw new Error("This program does not know its own path.");
  const elsewhere = app.environment["XDG_CONFIG_HOME"];
  return {
    kind,
    command: process.execPath,
    args: [realpathSync(entry), "mcp", ...chosen(app, name)],
    environment: elsewhere === undefined ? {} : { XDG_CONFIG_HOME: elsewhere },
  };
};

/** What this call was told of the place is what the bridge will be told. */
const chosen = (app: App, context: string): readonly string[] => {
  const { keyFile, url } = app.options;
  return [
    ...(url === undefined ? ["--context", context] : ["--url", url]),
    ...(keyFile === undefined || keyFile === "-" ? [] : ["--key-file", resolve(keyFile)]),
  ];
};

const mcpUrl = (url: string): string => new URL("/mcp", url).href;

/** Clients build tool names from it. */
const checkedName = (name: string): string => {
  if (/^[a-zA-Z0-9_-]{1,40}$/.test(name)) return name;
  throw new CliError(
    "--name is not usable",
    `\`${name}\` has other characters than letters, digits, - and _.`,
    "For example: --name holdfast",
    exitCodes.usage,
  );
};
