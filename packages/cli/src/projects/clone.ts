import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { slugSchema } from "@holdfast/contract";
import { HoldfastApiError } from "@holdfast/sdk";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { CliError, exitCodes } from "../errors.ts";
import { print } from "../present/index.ts";
import { shortCommit } from "../present/projects.ts";
import { fetchBundle, headOf, sendBundle, withTemporary } from "./bundle.ts";
import { isAncestor, openCheckout, rememberProject, remote } from "./checkout.ts";
import { showDeployed } from "./deployed.ts";
import { git } from "./git.ts";
import { inShell } from "../terminal/in-shell.ts";

/** `projects clone|push|pull`: a project's repository on this machine, for whoever takes the work over. */
export const addClones = (projects: Command, app: App): void => {
  projects
    .command("clone")
    .summary("Get a project's repository onto this machine")
    .description(
      "Makes a git repository here with the project's files and history. Work on it as on any other, then 'projects push' and 'projects pull' inside of it.",
    )
    .argument("<project>", "The project: its id or slug")
    .argument("[directory]", "Where to; default: the slug, here")
    .action((project: string, directory: string | undefined) => clone(app, project, directory));
  projects
    .command("push")
    .summary("Send the commits of a clone to its project")
    .description(
      "Inside a clone: makes the project's branch what is checked out here. Refused when the project has commits that are not here; 'projects pull' gets them.",
    )
    .option("--force", "Also when that takes commits away from the project")
    .option("--deploy", "Run it at once")
    .action((values: { force?: boolean; deploy?: boolean }) => push(app, values));
  projects
    .command("pull")
    .summary("Get a project's new commits into a clone")
    .description(
      "Inside a clone: brings what is checked out here forward to where the project is. Nothing is merged: with commits of your own it gets them and says what to do.",
    )
    .action(() => pull(app));
};

const clone = async (app: App, ref: string, given: string | undefined): Promise<void> => {
  const { slug } = await (await app.client()).projects.get({ project: ref });
  // It becomes a name on this machine, and came from another.
  if (!slugSchema.safeParse(slug).success)
    throw new CliError("The project's slug is not usable", "It is none.", "Ask who runs this Holdfast.");
  const directory = resolve(given ?? slug);
  await refuseOccupied(directory, given ?? slug);
  const head = await withTemporary("project.bundle", async (bundle) => {
    await fetchBundle(app, slug, bundle);
    const at = await headOf(process.cwd(), bundle);
    await git(
      process.cwd(),
      [
        "clone",
        "--quiet",
        "--no-recurse-submodules",
        `--origin=${remote}`,
        `--branch=${at.branch}`,
        "--",
        bundle,
        directory,
      ],
      "The project was not cloned",
      "Choose another directory.",
    );
    return at;
  });
  await rememberProject(app, directory, slug);
  if (app.json) return app.console.out(`${JSON.stringify({ project: slug, directory, ...head })}\n`);
  app.console.say(`${slug} is in ${directory}, at ${shortCommit(head.commit)} of ${head.branch}.`);
  app.console.hint(`Next, inside of it: change and commit, then \`holdfast projects push --deploy\`.`);
};

const push = async (
  app: App,
  { force = false, deploy = false }: { readonly force?: boolean; readonly deploy?: boolean },
): Promise<void> => {
  const { branch, commit, directory, project } = await openCheckout(app);
  const client = await app.client();
  const sent = await withTemporary("project.bundle", async (bundle) => {
    await git(
      directory,
      ["bundle", "create", "--quiet", bundle, "HEAD", `refs/heads/${branch}`],
      "The commits cannot be packed",
      "Mend what git says.",
    );
    return sendBundle(app, project, bundle, force);
  }).catch((error: unknown) => {
    throw movedOn(error) ?? error;
  });
  await noteHead(directory, commit);
  if (!deploy) {
    if (app.json) return print(app, "project.import", sent);
    app.console.say(
      `${project} is at ${shortCommit(sent.commit)} now. What runs changes when it is deployed.`,
    );
    return app.console.hint(`Next: holdfast projects deploy ${project}`);
  }
  app.console.progress(`Deploying ${project} …`);
  const deployed = await client.projects.deploy({ project }).finally(() => app.console.clearProgress());
  await showDeployed(app, deployed);
};

const pull = async (app: App): Promise<void> => {
  const { commit, directory, project } = await openCheckout(app);
  const head = await withTemporary("project.bundle", async (bundle) => {
    await fetchBundle(app, project, bundle);
    await git(
      directory,
      ["fetch", "--quiet", "--no-recurse-submodules", bundle, `+refs/heads/*:refs/remotes/${remote}/*`],
      "The project's commits cannot be read",
      "Clone it anew.",
    );
    return headOf(directory, bundle);
  });
  const told = { project, before: commit, commit: head.commit };
  if (await isAncestor(directory, head.commit, commit)) {
    if (app.json) return app.console.out(`${JSON.stringify({ ...told, commit })}\n`);
    return app.console.say(`Nothing new in ${project}.`);
  }
  if (!(await isAncestor(directory, commit, head.commit))) {
    const theirs = inShell(`${remote}/${head.branch}`);
    throw new CliError(
      "The project and this clone have both moved on",
      `Each has commits that the other has not. The project's are in ${remote}/${head.branch} now.`,
      `Bring them together: \`git merge ${theirs}\` (or \`git rebase ${theirs}\`), then \`holdfast projects push\`.`,
    );
  }
  await git(
    directory,
    ["merge", "--quiet", "--ff-only", head.commit],
    "The project's commits cannot be checked out here",
    "Mend what git says, then pull again.",
  );
  if (app.json) return app.console.out(`${JSON.stringify(told)}\n`);
  app.console.say(`${project}: ${shortCommit(commit)} to ${shortCommit(head.commit)}.`);
};

/** The project has commits that are not here: pushing would take away what somebody else did. */
const movedOn = (error: unknown): CliError | undefined => {
  if (!(error instanceof HoldfastApiError) || error.details["state"] !== "diverged") return undefined;
  const last = error.details["commit"];
  return new CliError(
    "The project has moved on",
    `Its last commit${typeof last === "string" ? ` ${shortCommit(last)}` : ""} is not in this clone.`,
    "Get it first: `holdfast projects pull`. Or leave it behind: `holdfast projects push --force`.",
  );
};

/** What the project has, as this clone knows it: its HEAD, which a clone has as a name for `holdfast/main`. */
const noteHead = async (directory: string, commit: string): Promise<void> => {
  await git(
    directory,
    ["update-ref", `refs/remotes/${remote}/HEAD`, commit],
    "The push succeeded, but the clone cannot note it",
    "Run `holdfast projects pull`.",
  );
};

const refuseOccupied = async (directory: string, name: string): Promise<void> => {
  const entries = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new CliError(
      `${name} cannot be cloned into`,
      error.message,
      "Give another directory.",
      exitCodes.usage,
    );
  });
  if (entries.length === 0) return;
  throw new CliError(
    `${name} is not empty`,
    "A clone needs a directory of its own.",
    "Give another one: `holdfast projects clone <project> <directory>`.",
    exitCodes.usage,
  );
};
