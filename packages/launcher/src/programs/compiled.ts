import { chmod, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { command, plainEnvironment } from "../host/command.ts";
import type { ProgramPlan } from "./plan.ts";

/** Node's own cache of compiled modules, without which reading and compiling them is most of a start. */
export interface Compiled {
  /** Named after the program and the digest of its sources; Node is told of it by `NODE_COMPILE_CACHE`. */
  readonly directory: string;
  /** Absolute paths of the modules that it holds, with everything that they import. None of them does anything when it is imported. */
  readonly modules: readonly string[];
}

/**
 * Makes the compiled modules of a program if they are not there; whether they had to be made. Root makes them, and they are root's:
 * a program that could write what it is started from would outlive its own restart.
 */
export const ensureCompiled = async (
  plan: Pick<ProgramPlan, "name" | "argv" | "user" | "compiled">,
): Promise<boolean> => {
  if (!plan.compiled || (await isThere(plan.compiled.directory))) return false;
  const { directory, modules } = plan.compiled;
  const parent = dirname(directory);
  await mkdir(parent, { recursive: true, mode: 0o755 });
  await chmod(parent, 0o755);
  // Those of older sources, and what a try left that was cut short.
  for (const name of await readdir(parent))
    if (name.startsWith(`${plan.name}-`) || name.startsWith(`.${plan.name}-`))
      await rm(join(parent, name), { recursive: true, force: true });
  const fresh = join(parent, `.${basename(directory)}.${process.pid}`);
  await mkdir(fresh, { mode: 0o755 });
  const [node = ""] = plan.argv;
  await command([node, "--input-type=module", "--eval", importAll, ...modules], {
    environment: { ...plainEnvironment, NODE_NO_WARNINGS: "1", NODE_COMPILE_CACHE: fresh },
  });
  await open(fresh, plan.user?.uid ?? 0);
  await rename(fresh, directory);
  return true;
};

/** Programs' imports may hold the process, and what they hold must not run on. */
const importAll = "for (const path of process.argv.slice(1)) await import(path); process.exit(0);";

/** Node keeps each user's modules apart, in a directory that ends in the number. */
const open = async (fresh: string, uid: number): Promise<void> => {
  for (const name of await readdir(fresh)) {
    const own = join(fresh, name.replace(/-0$/, `-${uid}`));
    await rename(join(fresh, name), own);
    await chmod(own, 0o755);
    for (const file of await readdir(own)) await chmod(join(own, file), 0o644);
  }
};

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
