import type { Operation, OperationName } from "@holdfast/contract";
import type { App } from "../app.ts";
import { CliError, exitCodes } from "../errors.ts";

/** Asks for the name of what is about to be gone. `--force` says yes beforehand; where nobody can be asked it is needed. */
export const confirmDanger = async (
  app: App,
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  force: boolean,
): Promise<void> => {
  if (force || !isDangerous(operation)) return;
  // Deleting one file is what people do all day; a whole directory is another matter.
  if (operation.name === "file.delete" && input["recursive"] !== true) return;
  const target = String(input[operation.command.arguments.at(-1) ?? ""]);
  const typed = await app.console.ask(
    `${operation.summary}. Type ${target} to go on:`,
    "Add --force to do it without being asked.",
  );
  if (typed !== target) {
    throw new CliError(
      "Not done",
      `You typed something else than ${target}.`,
      "Nothing has changed.",
      exitCodes.failed,
    );
  }
};

export const isDangerous = (operation: Operation): boolean =>
  operation.destructive && dangerous.has(operation.name as OperationName);

/** What is gone afterwards, or whose access is. */
const dangerous: ReadonlySet<OperationName> = new Set([
  "computer.destroy",
  "service.delete",
  "file.delete",
  "project.destroy",
  "schedule.delete",
  "snapshot.delete",
  "snapshot.restore",
  "share.revoke",
  "key.revoke",
  "owner.remove",
] as const);
