import { type OperationName, operations } from "@holdfast/contract";
import { Command, Option } from "commander";
import type { App } from "./app.ts";
import { addContexts } from "./commands/contexts.ts";
import { execOverride } from "./commands/exec.ts";
import { fileOverrides } from "./commands/files.ts";
import { followOverrides } from "./commands/follow.ts";
import { addOperation, type Override } from "./commands/from-operation.ts";
import { addHostVerbs } from "./commands/host.ts";
import { addLogs, addServiceLogs } from "./commands/logs.ts";
import { addTerminal, attachOverride } from "./commands/terminal.ts";
import { updateOverrides } from "./commands/updates.ts";
import { addTransfers } from "./files/transfers.ts";
import { offerOverrides } from "./holding/offers.ts";
import { addRunFollow, runOverrides } from "./holding/runs.ts";
import { scheduleOverrides } from "./holding/schedules.ts";
import { addSnapshotTransfers, snapshotOverrides } from "./holding/snapshots.ts";
import { addMcp } from "./mcp/command.ts";
import { addOwnerVerbs } from "./owner/commands.ts";
import { keyOverrides } from "./owner/keys.ts";
import { addClones } from "./projects/clone.ts";
import { projectOverrides } from "./projects/overrides.ts";
import { addProjectTransfers } from "./projects/transfers.ts";
import { addTop } from "./top/command.ts";

const nouns: Readonly<Record<string, string>> = {
  computers: "Create and look after computers",
  processes: "Run commands and read what they say",
  services: "Keep something running for good",
  files: "Read, write and move files",
  projects: "Work with an address: make it, deploy it, publish it",
  shares: "Give links to a private project (owners)",
  schedules: "Run commands at set times, or when an event says so",
  runs: "See what schedules ran and how it went",
  snapshots: "Freeze a disk, compare it, put it back, carry it elsewhere",
  children: "Fork a computer for a helper",
  offers: "Review what helpers hand back",
  holds: "Keep a computer awake for a while",
  ports: "See what listens",
  records: "See what was done",
  events: "Follow what happens",
  principal: "See who you are",
  keys: "Give assistants their keys (owners)",
  owners: "Sign in, invite and remove owners",
};

const overrides: { readonly [N in OperationName]?: Override } = {
  ...fileOverrides,
  ...followOverrides,
  ...keyOverrides,
  ...offerOverrides,
  ...projectOverrides,
  ...runOverrides,
  ...scheduleOverrides,
  ...snapshotOverrides,
  ...updateOverrides,
  "process.exec": execOverride,
  "process.attach": attachOverride,
};

/** Verbs with a hand of their own, built elsewhere. */
const handMade: ReadonlySet<OperationName> = new Set([
  "file.upload",
  "file.download",
  "archive.import",
  "archive.export",
  "service.logs",
  "project.export",
  "project.import",
  "snapshot.export",
  "snapshot.import",
  "session.enrol",
  "session.create",
  "session.get",
  "session.confirm",
  "session.delete",
] as const);

/** The whole command line: a noun for each noun of the operations table, and a few verbs of their own on top. */
export const createProgram = (app: App, version: string): Command => {
  const program = new Command("holdfast")
    .description("Durable computers for assistants, and the controls for the human who owns them")
    .version(version, "--version", "Print the version")
    .exitOverride()
    .showSuggestionAfterError(true)
    .helpOption("-h, --help", "Print help")
    .helpCommand("help [command]", "Print the help of a command")
    // A terminal of 80 columns leaves about 30 for what an option does.
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, minWidthToWrap: 24 })
    .configureOutput({ outputError: () => {} })
    .addHelpText("before", examples);
  addGlobalOptions(program);
  program.hook("preAction", (_root, command) => app.use(command.optsWithGlobals()));

  program.commandsGroup("Everyday:");
  addOperation(
    program,
    app,
    { ...operations["process.exec"], command: { noun: "", verb: "exec", arguments: ["computer"] } },
    execOverride,
  );
  addTerminal(program, app);
  addLogs(program, app);
  addTop(program, app);
  program.commandsGroup("All there is, by noun:");
  for (const [name, summary] of Object.entries(nouns)) addNoun(program, app, name, summary);
  program.commandsGroup("Assistants and places:");
  addMcp(program, app);
  addContexts(program, app);
  program.commandsGroup("On the host, as root:");
  addHostVerbs(program);
  return program;
};

const addNoun = (program: Command, app: App, name: string, summary: string): void => {
  const noun = program.command(name).summary(summary).description(summary);
  for (const operation of Object.values(operations)) {
    if (operation.command.noun !== name || handMade.has(operation.name)) continue;
    addOperation(noun, app, operation, overrides[operation.name]);
  }
  if (name === "files") addTransfers(noun, app);
  if (name === "services") addServiceLogs(noun, app);
  if (name === "projects") {
    addProjectTransfers(noun, app);
    addClones(noun, app);
  }
  if (name === "runs") addRunFollow(noun, app);
  if (name === "snapshots") addSnapshotTransfers(noun, app);
  if (name === "owners") addOwnerVerbs(noun, app);
};

const addGlobalOptions = (program: Command): void => {
  program
    .addOption(new Option("--json", "Print JSON"))
    .addOption(new Option("--no-input", "Never ask; fail instead"))
    .addOption(new Option("-q, --quiet", "Print no words, only data and failures"))
    .addOption(new Option("--context <name>", "Which Holdfast (default: the one in use; see 'contexts')"))
    .addOption(
      new Option(
        "--url <address>",
        "Address of a Holdfast: uses the context that has it, or none (then with --key-file)",
      ),
    )
    .addOption(
      new Option("--key-file <file>", "File with the key, instead of the context's; - for standard input"),
    )
    .addOption(
      new Option("--owner <name>", "Sign in as this owner, also where a key would do: an owner sees all"),
    )
    .addOption(
      new Option("--passphrase-file <file>", "File with the owner's passphrase; - for standard input"),
    );
};

const examples = `Examples:
  holdfast computers create box              make a computer
  holdfast exec box -- uname -a              run a command on it
  holdfast terminal box                      open a shell
  holdfast files upload box ./site /work/site
  holdfast projects create box shop --template web-app    make a project and get its address
  holdfast projects open shop                open it in your browser, signed in
  holdfast schedules create nightly --computer box --cron '0 3 * * *' -- ./report.sh
  holdfast snapshots create box              keep its disk as it is now
  holdfast top                               see how everything does
  holdfast mcp config --client claude-code   connect an assistant
`;
