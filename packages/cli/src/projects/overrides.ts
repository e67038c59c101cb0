import { type OperationOutput, operations } from "@holdfast/contract";
import type { App } from "../app.ts";
import { call, type Override } from "../commands/from-operation.ts";
import { CliError, exitCodes } from "../errors.ts";
import { collect } from "../options/add-options.ts";
import { print } from "../present/index.ts";
import { showNamed, withNames } from "../present/names.ts";
import { definitionText, readDefinition } from "./definition.ts";
import { type Deployed, showDeployed } from "./deployed.ts";
import { diffForTerminal } from "./diff.ts";
import { openOverride } from "./open.ts";
import { parseRule } from "./rules.ts";

type Project = OperationOutput<"project.get">;

/** Project verbs that read or show more than fields. */
export const projectOverrides = {
  "project.create": {
    description:
      "Makes a folder under /work on the computer with a git repository, files and services from a template, starts it, and prints its address. The address is private until an owner publishes it, and stays the same for life. Afterwards change the files ('files', 'exec', 'terminal', or a clone of your own) and 'projects deploy'.",
  },
  "project.list": {
    show: async (app, output) => {
      const { projects, ...page } = output as OperationOutput<"project.list">;
      const shown = await withNames(app, projects, { computer: "computer" });
      await print(app, "project.list", { projects: shown, ...page });
    },
  },
  "project.get": {
    extend: (command) =>
      command.option("--definition", "Print what it runs, as the content of a holdfast.json"),
    run: async ({ app, input, values }) => {
      const project = (await call(app, operations["project.get"], input)) as Project;
      if (values["definition"] !== true)
        return app.json ? print(app, "project.get", project) : showNamed("project.get")(app, project);
      await app.console.out(
        app.json ? `${JSON.stringify(project.definition)}\n` : definitionText(project.definition),
      );
    },
  },
  "project.update": {
    omit: ["definition"],
    extend: (command) =>
      command.option(
        "--definition <file>",
        "What it runs: a holdfast.json as 'projects show --definition' prints it; - for standard input",
      ),
    complete: async (app, input, values) => {
      const file = values["definition"] as string | undefined;
      const definition = file === undefined ? {} : { definition: await readDefinition(app, file) };
      if (file === undefined && input["description"] === undefined) {
        throw new CliError(
          "There is nothing to change",
          "Neither --description nor --definition was given.",
          "See what it runs: holdfast projects show <project> --definition",
          exitCodes.usage,
        );
      }
      return { ...input, ...definition, if_match: input["if_match"] ?? (await versionOf(app, input)) };
    },
  },
  "project.deploy": {
    description:
      "Commits everything in the project's folder, starts its services anew by the definition, and waits for them. Ends with 1 when its web service does not run then; 'logs <project>' says why. An earlier commit is brought back with 'projects restore'.",
    run: (call) => deployed("project.deploy", call),
  },
  "project.restore": { run: (call) => deployed("project.restore", call) },
  "project.diff": {
    show: async (app, output) => {
      const { diff, truncated } = output as OperationOutput<"project.diff">;
      if (diff === "") app.console.say("Nothing has changed.");
      else if (app.console.stdoutIsTty) {
        await app.console.out(diffForTerminal(diff, app.console.stdoutColor));
      } else await app.console.out(diff);
      if (truncated) app.console.say("The diff goes on; the rest is left out.");
    },
  },
  "project.publish": {
    description:
      "From now on everyone who knows the address reaches it: all of it, or what --rule names. Published again it is open to what is named then. Only an owner may.",
    omit: ["rules"],
    extend: (command) =>
      command
        .option(
          "--rule <rule>",
          "Open only this: methods and a path, exact or ending in * (may be repeated; default: everything)",
          collect,
        )
        .addHelpText(
          "after",
          [
            "",
            "Examples:",
            "  holdfast projects publish shop                          everything, to everyone",
            "  holdfast projects publish inbox --rule 'POST /hooks/*'  this alone; the rest stays private",
          ].join("\n"),
        ),
    complete: (_app, input, values) => {
      const rules = values["rule"] as readonly string[] | undefined;
      return rules === undefined ? input : { ...input, rules: rules.map(parseRule) };
    },
  },
  "project.open": openOverride,
  "share.create": {
    show: async (app, output) => {
      const { share, url } = output as OperationOutput<"share.create">;
      await print(app, "share.create", share);
      app.console.say("The link itself, shown this once:");
      await app.console.out(`${url}\n`);
    },
  },
} satisfies Readonly<Record<string, Override>>;

const deployed = async (
  name: "project.deploy" | "project.restore",
  { app, input, idempotencyKey }: Parameters<NonNullable<Override["run"]>>[0],
): Promise<void> => showDeployed(app, (await call(app, operations[name], input, idempotencyKey)) as Deployed);

const versionOf = async (app: App, input: Readonly<Record<string, unknown>>): Promise<string> =>
  (await (await app.client()).projects.get({ project: String(input["project"]) })).version;
