import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";

export const title = "What changed";

const run = promisify(execFile);
const commitsMax = 12;

/** Commits since the report before, in this project and those beside it. */
export const look = async ({ since, folder, signal }) => {
  const beside = dirname(folder);
  const names = (await readdir(beside, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && existsSync(join(beside, entry.name, ".git")))
    .map(({ name }) => name);
  const commits = [];
  for (const name of names.slice(0, 50))
    commits.push(...(await commitsOf(join(beside, name), name, since, signal)));
  commits.sort((one, other) => (one.at < other.at ? 1 : -1));
  const projects = new Set(commits.map(({ name }) => name)).size;
  return {
    summary:
      commits.length === 0
        ? "Nothing was committed."
        : `${commits.length === 1 ? "1 commit" : `${commits.length} commits`} in ${projects === 1 ? "1 project" : `${projects} projects`}.`,
    ...(commits.length > 0 && {
      table: {
        head: ["When", "Project", "What"],
        rows: commits
          .slice(0, commitsMax)
          .map(({ at, name, subject }) => [at.slice(5, 16).replace("T", " "), name, subject]),
      },
    }),
  };
};

const commitsOf = async (repository, name, since, signal) => {
  const { stdout } = await run(
    "git",
    // Another project's configuration names programs that git would run; a list of commits needs none of them.
    [
      "-c",
      "core.fsmonitor=false",
      "-c",
      "log.showSignature=false",
      "-C",
      repository,
      "log",
      `--since=${since.toISOString()}`,
      "-n",
      "200",
      "--format=%cI%x09%s",
    ],
    { signal, env: { ...process.env, TZ: "UTC", GIT_OPTIONAL_LOCKS: "0" }, maxBuffer: 1024 * 1024 },
  ).catch((error) => {
    // A repository without a commit yet.
    if (/does not have any commits/.test(error.stderr ?? "")) return { stdout: "" };
    throw error;
  });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [at = "", subject = ""] = line.split("\t");
      return { at: new Date(at).toISOString(), name, subject };
    });
};
