import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { operations } from "@holdfast/contract";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { CliError, exitCodes } from "../errors.ts";
import { addOptions, inputOf } from "../options/add-options.ts";
import { fieldsOf } from "../options/fields.ts";
import { print } from "../present/index.ts";
import { openLocal, tarOf } from "./local-tree.ts";
import { Progress, streamOf } from "./progress.ts";
import { save } from "./save.ts";

/** `files upload|download|import|export`: between this machine and a computer, streamed. `-` is standard input or output. */
export const addTransfers = (files: Command, app: App): void => {
  addUpload(files, app);
  addDownload(files, app);
  addImport(files, app);
  addExport(files, app);
};

const addUpload = (files: Command, app: App): void => {
  const fields = fieldsOf(operations["file.upload"], []);
  const command = files
    .command("upload")
    .summary("Copy a file or directory to a computer")
    .description(
      "Copies a local file to <path> (into it when it ends with /), or the content of a local directory into the directory <path>. Whole or not at all. Links are never followed: one given as <local> is refused, those inside a directory stay links.",
    )
    .argument("<computer>", "The computer: its id or name")
    .argument("<local>", "A file or directory here; - for standard input")
    .argument("<path>", "Absolute path on the computer");
  addOptions(command, fields, operations["file.upload"].input.shape);
  command.action(async (computer: string, local: string, path: string) => {
    const client = await app.client();
    const given = inputOf(fields, command.opts(), (key) => command.getOptionValueSource(key) === "cli");
    const progress = new Progress(app, `Uploading ${local}`);
    if (local === "-") {
      const body = progress.count(app.console.stdin as AsyncIterable<Uint8Array>);
      return done(
        app,
        "file.upload",
        await client.files.upload({ computer, path, ...given }, body),
        progress,
      );
    }
    const handle = await openLocal(local);
    try {
      const stat = await handle.stat();
      if (stat.isDirectory()) {
        const skipped = (entry: string): void =>
          app.console.say(`Not sent, neither file nor directory nor link: ${entry}`);
        const body = streamOf(tarOf(handle, { skipped, sent: (bytes) => progress.add(bytes) }));
        return await done(
          app,
          "archive.import",
          await client.archives.import({ computer, path }, body),
          progress,
        );
      }
      if (!stat.isFile())
        throw new CliError(
          `${local} is not a file`,
          "Only files and directories are uploaded.",
          "Pipe it: `… | holdfast files upload <computer> - <path>`.",
        );
      const target = path.endsWith("/") ? `${path}${basename(local)}` : path;
      const body = progress.count(handle.createReadStream({ autoClose: false, start: 0 }));
      const mode = { mode: `0${(stat.mode & 0o777).toString(8)}` };
      await done(
        app,
        "file.upload",
        await client.files.upload({ computer, path: target, ...mode, ...given }, body),
        progress,
      );
    } finally {
      await handle.close();
    }
  });
};

const addDownload = (files: Command, app: App): void => {
  files
    .command("download")
    .summary("Copy a file from a computer")
    .description("Copies a file to <local> (default: its name, here). For a directory see 'files export'.")
    .argument("<computer>", "The computer: its id or name")
    .argument("<path>", "Absolute path on the computer")
    .argument("[local]", "Where to; - for standard output", ".")
    .action(async (computer: string, path: string, local: string) => {
      const client = await app.client();
      const stat = await client.files.stat({ computer, path, follow: true });
      if (stat.kind === "directory") {
        throw new CliError(
          `${path} is a directory`,
          "Only files are downloaded one by one.",
          `holdfast files export ${computer} ${path} ${basename(path) || "root"}.tar`,
          exitCodes.usage,
        );
      }
      const { stream } = await client.files.download({ computer, path });
      await save(app, stream, local, basename(path), `Downloading ${path}`);
    });
};

const addImport = (files: Command, app: App): void => {
  files
    .command("import")
    .summary("Unpack a tar archive on a computer")
    .description(operations["archive.import"].description.replaceAll("`", "'"))
    .argument("<computer>", "The computer: its id or name")
    .argument("<path>", "Directory on the computer")
    .argument("[archive]", "A tar or tar.gz file here; - for standard input", "-")
    .action(async (computer: string, path: string, archive: string) => {
      const client = await app.client();
      const progress = new Progress(app, "Importing");
      const source = archive === "-" ? app.console.stdin : createReadStream(archive);
      const body = progress.count(source as AsyncIterable<Uint8Array>);
      await done(app, "archive.import", await client.archives.import({ computer, path }, body), progress);
    });
};

const addExport = (files: Command, app: App): void => {
  files
    .command("export")
    .summary("Save a directory as a tar archive")
    .description("Saves the content of a directory on a computer as a tar archive here.")
    .argument("<computer>", "The computer: its id or name")
    .argument("<path>", "Directory on the computer")
    .argument("[archive]", "The file to write; - for standard output", "-")
    .action(async (computer: string, path: string, archive: string) => {
      const client = await app.client();
      const { stream } = await client.archives.export({ computer, path });
      await save(app, stream, archive, `${basename(path) || "root"}.tar`, `Exporting ${path}`);
    });
};

const done = async (
  app: App,
  name: "file.upload" | "archive.import",
  output: unknown,
  progress: Progress,
): Promise<void> => {
  progress.end();
  await print(app, name, output);
};
