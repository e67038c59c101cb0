import { rmSync } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../app.ts";
import { CliError, exitCodes } from "../errors.ts";
import { Progress } from "../files/progress.ts";
import { git } from "./git.ts";

export interface Head {
  /** The commit that the project stands at. */
  readonly commit: string;
  /** Its branch, without `refs/heads/`. */
  readonly branch: string;
}

/** Gives the path of a file in a private directory that is gone afterwards, also when the command is interrupted. */
export const withTemporary = async <T>(name: string, use: (path: string) => Promise<T>): Promise<T> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-"));
  const interrupted = (): void => {
    rmSync(directory, { recursive: true, force: true });
    process.exit(exitCodes.interrupted);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, interrupted);
  try {
    return await use(join(directory, name));
  } finally {
    for (const signal of signals) process.off(signal, interrupted);
    await rm(directory, { recursive: true, force: true });
  }
};

/** Fetches a project's repository into a file. */
export const fetchBundle = async (app: App, project: string, path: string): Promise<void> => {
  const { stream } = await (await app.client()).projects.export({ project, format: "bundle" });
  const progress = new Progress(app, `Fetching ${project}`);
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of progress.counted(stream)) await file.writeFile(chunk);
  } finally {
    await file.close();
    progress.end();
  }
};

/** Sends a bundle to a project; see `project.import`. */
export const sendBundle = async (
  app: App,
  project: string,
  path: string,
  force: boolean,
): Promise<{ readonly commit: string; readonly project: Readonly<Record<string, unknown>> }> => {
  const client = await app.client();
  const progress = new Progress(app, `Pushing to ${project}`);
  const file = await open(path, "r");
  try {
    const body = progress.count(file.createReadStream({ autoClose: false, start: 0 }));
    return await client.projects.import({ project, format: "bundle", force }, body);
  } finally {
    await file.close();
    progress.end();
  }
};

/** Where the project stands, by the bundle itself. Throws when it is empty or none. */
export const headOf = async (directory: string, bundle: string): Promise<Head> => {
  const text = await git(
    directory,
    ["bundle", "list-heads", bundle],
    "What the project sent is no git bundle",
    "Look at its repository: `holdfast exec <computer> --cwd <folder> -- git status`.",
  );
  const heads = text
    .split("\n")
    .map((line) => /^([0-9a-f]{40,64}) (\S+)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, commit = "", name = ""]) => ({ commit, name }));
  const at = heads.find(({ name }) => name === "HEAD")?.commit;
  const branches = heads.filter(({ name }) => name.startsWith("refs/heads/"));
  const branch =
    branches.find(({ commit, name }) => commit === at && name === "refs/heads/main") ??
    branches.find(({ commit }) => commit === at) ??
    branches[0];
  if (branch) return { commit: branch.commit, branch: branch.name.slice("refs/heads/".length) };
  throw new CliError(
    "The project has no commits yet",
    "There is nothing to take over.",
    "Deploy it once: `holdfast projects deploy <project>`.",
  );
};
