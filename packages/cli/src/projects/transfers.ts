import { type OperationInput, type OperationName, operations } from "@holdfast/contract";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { CliError } from "../errors.ts";
import { openLocal } from "../files/local-tree.ts";
import { Progress } from "../files/progress.ts";
import { save } from "../files/save.ts";
import { addOptions, inputOf } from "../options/add-options.ts";
import { fieldsOf } from "../options/fields.ts";
import { commandWords } from "../options/words.ts";
import { print } from "../present/index.ts";

/** `projects export|import`: a project's files, or its repository, as one file here. `-` is standard output or input. */
export const addProjectTransfers = (projects: Command, app: App): void => {
  addTransfer(
    projects,
    "project.export",
    "[file]",
    "The file to write; - for standard output",
    (project, file, given) => exportTo(app, project, file, formatOf(file, given)),
  );
  addTransfer(
    projects,
    "project.import",
    "[file]",
    "A tar or a git bundle; - for standard input",
    (project, file, given) => importFrom(app, file, { project, ...given, format: formatOf(file, given) }),
  );
};

const exportTo = async (app: App, project: string, file: string, format: Format): Promise<void> => {
  const { stream } = await (await app.client()).projects.export({ project, format });
  await save(app, stream, file, `${project}.${format}`, `Exporting ${project}`);
};

const importFrom = async (app: App, file: string, input: OperationInput<"project.import">): Promise<void> => {
  const client = await app.client();
  const progress = new Progress(app, "Importing");
  const send = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    const output = await client.projects.import(input, progress.count(chunks));
    progress.end();
    await print(app, "project.import", output);
  };
  if (file === "-") return send(app.console.stdin as AsyncIterable<Uint8Array>);
  const handle = await openLocal(file);
  try {
    if (!(await handle.stat()).isFile()) {
      throw new CliError(
        `${file} is not a file`,
        "A project is imported from an archive of its files or a git bundle.",
        `Pipe an archive of a directory: \`tar c -C <directory> . | holdfast projects import ${input.project}\`.`,
      );
    }
    await send(handle.createReadStream({ autoClose: false, start: 0 }));
  } finally {
    await handle.close();
  }
};

type Format = "tar" | "bundle";

const addTransfer = (
  projects: Command,
  name: OperationName,
  argument: string,
  about: string,
  run: (project: string, file: string, given: Record<string, unknown>) => Promise<void>,
): void => {
  const operation = operations[name];
  const fields = fieldsOf(operation, []);
  const command = projects
    .command(operation.command.verb)
    .summary(operation.summary)
    .description(
      `${commandWords(operation.description, operation.input.shape)} A file whose name ends in .bundle is taken for one without --format.`,
    )
    .argument("<project>", "The project: its id or slug")
    .argument(argument, about, "-");
  addOptions(command, fields, operation.input.shape);
  command.action((project: string, file: string) =>
    run(
      project,
      file,
      inputOf(fields, command.opts(), (key) => command.getOptionValueSource(key) === "cli"),
    ),
  );
};

const formatOf = (file: string, given: Readonly<Record<string, unknown>>): Format => {
  if (given["format"] !== undefined) return given["format"] === "bundle" ? "bundle" : "tar";
  return file.endsWith(".bundle") ? "bundle" : "tar";
};
