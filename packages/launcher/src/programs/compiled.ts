import { constants } from "node:fs";
import { chmod, chown, lstat, mkdir, open, readdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { command, plainEnvironment } from "../host/command.ts";
import { exists } from "../host/exists.ts";
import { removeTree } from "../host/remove.ts";
import type { UserIds } from "../host/users.ts";
import type { ProgramPlan } from "./plan.ts";

/** Node's own cache of compiled modules, without which reading and compiling them is most of a start. */
export interface Compiled {
  /** Named after the program and the digest of its sources; Node is told of it by `NODE_COMPILE_CACHE`. */
  readonly directory: string;
  /** Absolute paths of the modules that it holds, with everything that they import. None of them does anything when it is imported. */
  readonly modules: readonly string[];
}

/**
 * Makes the compiled modules of a program if they are not there; whether they had to be made. They are imported as the program's own
 * user, for what control depends on is not to run as root. What is kept is a copy of root's: a program that could write what it is
 * started from would outlive its own restart.
 */
export const ensureCompiled = async (
  plan: Pick<ProgramPlan, "name" | "argv" | "user" | "compiled">,
): Promise<boolean> => {
  if (!plan.compiled || (await exists(plan.compiled.directory))) return false;
  const { directory, modules } = plan.compiled;
  const user = plan.user ?? { uid: 0, gid: 0 };
  const parent = dirname(directory);
  await mkdir(parent, { recursive: true, mode: 0o755 });
  await chmod(parent, 0o755);
  // Those of older sources, and what a try left that was cut short.
  for (const name of await readdir(parent))
    if (name.startsWith(`${plan.name}-`) || name.startsWith(`.${plan.name}-`))
      await removeTree(join(parent, name));
  const theirs = join(parent, `.${basename(directory)}.${process.pid}`);
  const ours = `${theirs}.copy`;
  await mkdir(theirs, { mode: 0o700 });
  await chown(theirs, user.uid, user.gid);
  const [node = ""] = plan.argv;
  await command([node, "--input-type=module", "--eval", importAll, ...modules], {
    environment: { ...plainEnvironment, NODE_NO_WARNINGS: "1", NODE_COMPILE_CACHE: theirs },
    ...(plan.user && { user: plan.user }),
  });
  // From here on no name in it changes.
  await chown(theirs, 0, 0);
  await copy(theirs, ours, user);
  await removeTree(theirs);
  await rename(ours, directory);
  return true;
};

/** Programs' imports may hold the process, and what they hold must not run on. */
const importAll = "for (const path of process.argv.slice(1)) await import(path); process.exit(0);";

/** More than this is no cache of ours; control's is some 4 MB. */
const mostFiles = 10_000;
const mostBytes = 128 * 1024 * 1024;

/** Copies the directory that Node made in `from`, named after itself and the user, and in it the plain files that are the user's own. */
const copy = async (from: string, to: string, user: UserIds): Promise<void> => {
  await mkdir(to, { mode: 0o755 });
  await chmod(to, 0o755);
  let files = 0;
  let bytes = 0;
  for (const own of await readdir(from)) {
    if (!(await lstat(join(from, own))).isDirectory()) continue;
    await mkdir(join(to, own), { mode: 0o755 });
    await chmod(join(to, own), 0o755);
    for (const name of await readdir(join(from, own))) {
      const content = await readOwn(join(from, own, name), user, mostBytes - bytes);
      if (!content) continue;
      files += 1;
      bytes += content.byteLength;
      if (files > mostFiles) throw new Error(`${from} holds more files than compiled modules are`);
      await writeFile(join(to, own, name), content, { mode: 0o644, flag: "wx" });
      await chmod(join(to, own, name), 0o644);
    }
  }
};

/** Undefined for anything but a plain file of that user: a link may lead to what only root may read. */
const readOwn = async (path: string, user: UserIds, most: number): Promise<Buffer | undefined> => {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ELOOP" || error.code === "ENXIO") return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const seen = await file.stat();
    if (!seen.isFile() || seen.uid !== user.uid) return undefined;
    if (seen.size > most) throw new Error(`${path} is larger than compiled modules are`);
    const content = Buffer.alloc(seen.size);
    const { bytesRead } = await file.read(content, 0, seen.size, 0);
    return content.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};
