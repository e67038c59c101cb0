import { type OperationInput, type OperationOutput, operations } from "@holdfast/contract";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { type Override, slow, usageError } from "../commands/from-operation.ts";
import { CliError } from "../errors.ts";
import { openLocal } from "../files/local-tree.ts";
import { Progress } from "../files/progress.ts";
import { save } from "../files/save.ts";
import { addOptions, inputOf } from "../options/add-options.ts";
import { fieldsOf } from "../options/fields.ts";
import { commandWords } from "../options/words.ts";
import { print } from "../present/index.ts";
import { showNamed } from "../present/names.ts";

export const snapshotOverrides = {
  "snapshot.get": { show: showNamed("snapshot.get") },
  "snapshot.restore": {
    show: async (app, output) => {
      const { computer, before } = output as OperationOutput<"snapshot.restore">;
      await print(app, "computer.get", computer);
      app.console.say(`What was there before is the snapshot ${before}.`);
    },
  },
  "snapshot.diff": {
    show: async (app, output) => {
      const { added, changed, removed, truncated } = output as OperationOutput<"snapshot.diff">;
      await print(app, "snapshot.diff", output);
      if (added + changed + removed === 0) return;
      const told = `${added} added, ${changed} changed, ${removed} removed`;
      app.console.say(truncated ? `${told}, and more than is counted: name a --path.` : told);
    },
  },
} satisfies Readonly<Record<string, Override>>;

/** `snapshots export|import`: a whole computer as one file here. `-` is standard output or input. */
export const addSnapshotTransfers = (snapshots: Command, app: App): void => {
  addExport(snapshots, app);
  addImport(snapshots, app);
};

const addExport = (snapshots: Command, app: App): void => {
  const { summary, description, input } = operations["snapshot.export"];
  snapshots
    .command("export")
    .summary(summary)
    .description(commandWords(description, input.shape))
    .argument("<computer>", "The computer: its id or its name")
    .argument("<snapshot>", "The snapshot: its id (snp_…) or its name")
    .argument("[file]", "Where to: a file or directory; - for standard output", ".")
    .action(async (computer: string, snapshot: string, file: string) => {
      if (file === "-" && app.console.stdoutIsTty)
        throw usageError(
          "It is not for a terminal",
          "A snapshot's file is compressed data.",
          `Name a file, or pipe it: holdfast snapshots export ${computer} ${snapshot} - | ssh backup 'cat > ${snapshot}.tar.zst'`,
        );
      const client = await app.client();
      const { stream } = await slow(app, operations["snapshot.export"], () =>
        client.snapshots.export({ computer, snapshot }),
      );
      await save(app, stream, file, `${computer}-${snapshot}.tar.zst`, `Exporting ${snapshot}`);
    });
};

const addImport = (snapshots: Command, app: App): void => {
  const { summary, description, input } = operations["snapshot.import"];
  const fields = fieldsOf(operations["snapshot.import"], []);
  const command = snapshots
    .command("import")
    .summary(summary)
    .description(commandWords(description, input.shape))
    .argument("<name>", "Of the new computer")
    .argument("[file]", "A file as 'snapshots export' writes it; - for standard input", "-");
  addOptions(command, fields, input.shape);
  command.option("--idempotency-key <text>", "Unique to this act: sent again it answers the first result");
  command.action(async (name: string, file: string) => {
    const given = inputOf(fields, command.opts(), (key) => command.getOptionValueSource(key) === "cli");
    const key = command.opts<{ idempotencyKey?: string }>().idempotencyKey;
    await importFrom(app, file, { name, ...given }, key === undefined ? {} : { idempotencyKey: key });
  });
};

const importFrom = async (
  app: App,
  file: string,
  input: OperationInput<"snapshot.import">,
  options: { readonly idempotencyKey?: string },
): Promise<void> => {
  const client = await app.client();
  const progress = new Progress(app, "Importing");
  const send = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    const output = await client.snapshots.import(input, progress.count(chunks), options);
    progress.end();
    await print(app, "snapshot.import", output);
  };
  if (file === "-") {
    if (app.console.stdin.isTTY)
      throw usageError(
        "There is no file",
        "Neither a file was named nor one piped in.",
        `holdfast snapshots import ${input.name} box-before.tar.zst`,
      );
    return send(app.console.stdin as AsyncIterable<Uint8Array>);
  }
  const handle = await openLocal(file);
  try {
    if (!(await handle.stat()).isFile())
      throw new CliError(
        `${file} is not a file`,
        "A computer is imported from one file.",
        "Make one: holdfast snapshots export <computer> <snapshot>.",
      );
    await send(handle.createReadStream({ autoClose: false, start: 0 }));
  } finally {
    await handle.close();
  }
};
