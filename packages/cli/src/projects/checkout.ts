import type { App } from "../app.ts";
import { sameAddress } from "../config/contexts.ts";
import { CliError, exitCodes } from "../errors.ts";
import { git, tryGit } from "./git.ts";

/** Name of the remote, and with it of what is known of the project here: `holdfast/main`. */
export const remote = "holdfast";

/** A clone of a project on this machine: a git repository that knows where it came from. */
export interface Checkout {
  readonly directory: string;
  readonly project: string;
  /** The branch that is checked out. */
  readonly branch: string;
  readonly commit: string;
}

/** Keeps in a clone's own git configuration which project of which Holdfast it is of. */
export const rememberProject = async (app: App, directory: string, project: string): Promise<void> => {
  const { name, context } = await app.context();
  const known = (await app.store.read()).contexts[name];
  const place =
    known && sameAddress(known.url, context.url)
      ? (["holdfast.context", name] as const)
      : (["holdfast.url", context.url] as const);
  const set = (...words: readonly string[]): Promise<string> =>
    git(directory, words, "The clone cannot be configured", "Remove it and clone again.");
  await set("config", "--local", "holdfast.project", project);
  await set("config", "--local", ...place);
  // What the project has stays known as `holdfast/main`. There is no remote for plain git to dial, and no branch for it to advise pulling.
  const { stdout } = await tryGit(directory, [
    "config",
    "--local",
    "--name-only",
    "--get-regexp",
    clonedFrom,
  ]);
  const sections = new Set(
    stdout
      .trim()
      .split("\n")
      .map((key) => key.replace(/\.[^.]*$/, "")),
  );
  for (const section of sections)
    if (section !== "") await set("config", "--local", "--remove-section", section);
};

/** The keys in which git notes where a clone came from: a remote, and branches that follow it. */
const clonedFrom = `^(remote\\.${remote}|branch\\..*)\\.`;

/** The clone that the command was started in; from here on the app speaks to its Holdfast, unless flags choose another. */
export const openCheckout = async (app: App): Promise<Checkout> => {
  const here = process.cwd();
  const top = await tryGit(here, ["rev-parse", "--show-toplevel"]);
  const directory = top.stdout.trim();
  const project = top.code === 0 ? await configured(directory, "project") : undefined;
  if (project === undefined) {
    throw new CliError(
      "This is no clone of a project",
      top.code === 0 ? `The repository ${directory} names no project.` : `${here} is in no git repository.`,
      "Make one: `holdfast projects clone <project>`, and run this inside of it.",
      exitCodes.usage,
    );
  }
  if (app.options.context === undefined && app.options.url === undefined) {
    const context = await configured(directory, "context");
    const url = await configured(directory, "url");
    app.options = {
      ...app.options,
      ...(context === undefined ? {} : { context }),
      ...(url === undefined ? {} : { url }),
    };
  }
  const branch = await tryGit(directory, ["symbolic-ref", "--quiet", "--short", "HEAD"]);
  if (branch.code !== 0) {
    throw new CliError(
      "No branch is checked out",
      "HEAD is at a commit, not at a branch.",
      "Check one out: `git switch main`.",
      exitCodes.usage,
    );
  }
  const commit = await git(
    directory,
    ["rev-parse", "--verify", "HEAD^{commit}"],
    "There is no commit here yet",
    "Commit something first.",
  );
  await refuseChanges(directory);
  return { directory, project, branch: branch.stdout.trim(), commit };
};

/** Whether this repository has the first commit, and everything of it is in the second. */
export const isAncestor = async (directory: string, first: string, second: string): Promise<boolean> =>
  (await tryGit(directory, ["merge-base", "--is-ancestor", first, second])).code === 0;

const configured = async (directory: string, key: string): Promise<string | undefined> => {
  const { code, stdout } = await tryGit(directory, ["config", "--local", "--get", `holdfast.${key}`]);
  return code === 0 ? stdout.trim() : undefined;
};

/** Changes that are not committed would neither be pushed nor survive a pull unharmed. Files that git does not know stay out of both. */
const refuseChanges = async (directory: string): Promise<void> => {
  const text = await git(
    directory,
    ["status", "--porcelain", "--untracked-files=no"],
    "git cannot say what has changed here",
    "Mend what it says.",
  );
  const changed = text.split("\n").filter((line) => line !== "");
  if (changed.length === 0) return;
  const few = changed.slice(0, 5).map((line) => line.trim().replace(/^\S+\s+/, ""));
  throw new CliError(
    "There are changes that are not committed",
    `${changed.length === 1 ? "One file" : `${changed.length} files`}: ${few.join(", ")}${changed.length > 5 ? ", …" : ""}.`,
    "Commit them (`git commit -a`) or put them away (`git stash`) first.",
  );
};
