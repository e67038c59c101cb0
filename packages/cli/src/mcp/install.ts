import { chmod, copyFile, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CliError } from "../errors.ts";
import { replaceTomlTable } from "./toml.ts";

/** What goes into a client's file. */
export type Block =
  | {
      readonly format: "json";
      readonly entries: readonly JsonEntry[];
      readonly text: string;
      readonly holdsKey: boolean;
    }
  | {
      readonly format: "toml";
      readonly table: readonly string[];
      readonly text: string;
      readonly holdsKey: boolean;
    };

type JsonEntry =
  | { readonly path: readonly string[]; readonly value: unknown }
  /** Joins a list, in the place of the item with the same `sameBy`. */
  | {
      readonly path: readonly string[];
      readonly append: Readonly<Record<string, unknown>>;
      readonly sameBy: string;
    };

/**
 * Puts a block into a client's file: whole or not at all, with a backup of what was there, everything else kept.
 * What is already as it should be keeps the backup of the first time. A file that cannot be
 * understood is left as it is (`CliError`). With a key inside, the file and the backup are readable by their owner only.
 */
export const install = async (
  given: string,
  block: Block,
): Promise<{ readonly backup: string | undefined }> => {
  // Written through a link on purpose: people keep such files elsewhere and link them.
  const path = await realpath(given).catch(() => resolve(given));
  const before = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new CliError(`${given} cannot be read`, error.message, "Check its permissions.");
  });
  const after =
    block.format === "json"
      ? mergeJson(given, before ?? "", block.entries)
      : mergeToml(given, before ?? "", block);
  const mode = block.holdsKey ? 0o600 : before === undefined ? 0o644 : (await stat(path)).mode & 0o777;
  await mkdir(dirname(path), { recursive: true });
  const backup = before === undefined || before === after ? undefined : `${path}.before-holdfast`;
  if (backup !== undefined) {
    await copyFile(path, backup);
    await chmod(backup, 0o600);
  }
  await replace(path, after, mode);
  return { backup };
};

const replace = async (path: string, content: string, mode: number): Promise<void> => {
  const temporary = `${path}.${process.pid}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
};

const mergeJson = (path: string, before: string, entries: readonly JsonEntry[]): string => {
  const root = before.trim() === "" ? {} : parse(path, before);
  for (const entry of entries) put(path, root, entry);
  const indent = /^([ \t]+)"/m.exec(before)?.[1] ?? "  ";
  return `${JSON.stringify(root, null, indent)}\n`;
};

type JsonObject = Record<string, unknown>;

const parse = (path: string, text: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Told below, together with values of the wrong kind.
  }
  throw notUnderstood(path, "It is not a JSON object (comments are not JSON).");
};

const put = (path: string, root: JsonObject, entry: JsonEntry): void => {
  const parents = entry.path.slice(0, -1);
  const last = entry.path.at(-1) ?? "";
  let at = root;
  for (const name of parents) {
    const inner = at[name] ?? {};
    if (!isObject(inner)) throw notUnderstood(path, `\`${name}\` in it is not an object.`);
    at[name] = inner;
    at = inner;
  }
  if ("value" in entry) {
    at[last] = entry.value;
    return;
  }
  const list = at[last] ?? [];
  if (!Array.isArray(list)) throw notUnderstood(path, `\`${last}\` in it is not a list.`);
  const others = (list as unknown[]).filter(
    (item) => !isObject(item) || item[entry.sameBy] !== entry.append[entry.sameBy],
  );
  at[last] = [...others, entry.append];
};

const mergeToml = (path: string, before: string, block: Block & { format: "toml" }): string => {
  const merged = replaceTomlTable(before, block.table, block.text);
  if (merged === undefined) {
    throw notUnderstood(
      path,
      `It is not TOML that can be changed safely, or it declares ${block.table[0] ?? ""} in another form.`,
    );
  }
  return merged;
};

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const notUnderstood = (path: string, cause: string): CliError =>
  new CliError(
    `${path} was not changed`,
    cause,
    "Put the block in by hand: the same command without --write prints it.",
  );
