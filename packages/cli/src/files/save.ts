import { lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { App } from "../app.ts";
import { CliError } from "../errors.ts";
import { newSuffix } from "../lib/random.ts";
import { formatBytes } from "../lib/units.ts";
import { Progress } from "./progress.ts";

/** Writes to a new file that then takes the place of what is there: whole or not at all, and never through a link. */
export const save = async (
  app: App,
  stream: ReadableStream<Uint8Array>,
  local: string,
  name: string,
  words: string,
): Promise<void> => {
  const progress = new Progress(app, words);
  if (local === "-") {
    if (app.console.stdoutIsTty) progress.off();
    for await (const chunk of progress.counted(stream)) await app.console.out(chunk);
    return progress.end();
  }
  const target = (await isDirectory(local)) ? join(local, name) : local;
  const temporary = join(dirname(target), `.${basename(target)}.${newSuffix()}.part`);
  const file = await open(temporary, "wx", 0o644).catch((error: Error) => {
    throw new CliError(`${target} cannot be written`, error.message, "Choose another place.");
  });
  try {
    for await (const chunk of progress.counted(stream)) await file.write(chunk);
    await file.close();
    await rename(temporary, target);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }
  progress.end();
  app.console.say(`${target}: ${formatBytes(progress.bytes)}`);
};

const isDirectory = (path: string): Promise<boolean> =>
  lstat(path.endsWith("/") ? path : `${path}/`).then(
    (stat) => stat.isDirectory(),
    () => false,
  );
