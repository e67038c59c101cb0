import { HoldfastError, limits, type OperationOutput, type OperationParams } from "@holdfast/contract";
import type { BytesResult, OperationContext } from "../domain/handler.ts";
import type { Principal } from "../domain/principal.ts";
import { type CellParts, type Files, withAgent } from "../work/index.ts";
import { deleteTemporary, temporaryPath } from "./cell-files.ts";
import type { FoundProject, Projects } from "./projects.ts";
import type { Repository } from "./repository.ts";
import type { Turns } from "./turns.ts";
import type { ProjectViews } from "./views.ts";

export interface TransferParts extends CellParts {
  readonly projects: Projects;
  readonly views: ProjectViews;
  readonly files: Files;
  readonly turns: Turns;
}

/** Projects out of a computer and into one. What is on its way lies in one temporary place in the computer, which is removed whatever happens. */
export class Transfer {
  readonly #parts: TransferParts;

  constructor(parts: TransferParts) {
    this.#parts = parts;
  }

  async export(
    { operationId, signal }: OperationContext,
    { project, computer }: FoundProject,
    { format }: OperationParams<"project.export">,
  ): Promise<BytesResult> {
    const repository = this.#parts.projects.repository(project, computer, signal);
    const path = `${temporaryPath(operationId)}.${format}`;
    const remove = (): Promise<void> => deleteTemporary(this.#parts.agents, computer, path);
    try {
      await repository.run(
        format === "tar"
          ? ["archive", "--format=tar", `--output=${path}`, "HEAD"]
          : ["bundle", "create", "--quiet", path, "HEAD", "--branches", "--tags"],
      );
      const { bytes, lengthBytes } = await this.#parts.files.download(
        computer,
        { computer: computer.id, path, offset: 0 },
        signal,
      );
      return {
        bytes: endedBy(bytes, remove),
        contentType: format === "tar" ? "application/x-tar" : "application/x-git-bundle",
        ...(lengthBytes === undefined ? {} : { lengthBytes }),
        fileName: `${project.slug}.${format}`,
        target: project.id,
      };
    } catch (error) {
      await remove();
      throw error;
    }
  }

  /** What has arrived whole is taken over also when its caller goes away meanwhile; `until` is what ends that. */
  async import(
    { operationId, principal, signal }: OperationContext,
    { project, computer }: FoundProject,
    { format, force }: OperationParams<"project.import">,
    body: AsyncIterable<Uint8Array>,
    until: AbortSignal,
  ): Promise<OperationOutput<"project.import">> {
    const { turns, projects, views } = this.#parts;
    const path = temporaryPath(operationId);
    try {
      const options = { signal, waitMs: limits.projectFilesMs };
      await withAgent(this.#parts, computer, signal, async (agent) => {
        if (format === "tar") await agent.upload("tar.import", { path, ...archiveLimits }, body, options);
        else await agent.upload("files.write", { path, must_not_exist: true }, body, options);
      });
      const repository = projects.repository(project, computer, until);
      const commit = await turns.take(project.id, () =>
        format === "tar"
          ? takeFiles(repository, path, principal)
          : takeCommits(repository, path, principal, force),
      );
      return { commit, project: await views.of(project, signal) };
    } finally {
      await deleteTemporary(this.#parts.agents, computer, path);
      await deleteTemporary(this.#parts.agents, computer, indexOf(path));
    }
  }
}

/** The archive's files in place of the tracked ones, as a new commit. */
const takeFiles = async (repository: Repository, path: string, principal: Principal): Promise<string> => {
  await repository.commitAll("Before an import", principal);
  await repository.checkOut(await repository.treeOfFolder(path, indexOf(path)));
  return repository.commitIndex("Import files", principal);
};

/** The bundle's branch in place of the project's, if that is in it. */
const takeCommits = async (
  repository: Repository,
  path: string,
  principal: Principal,
  force: boolean,
): Promise<string> => {
  await repository.run(["bundle", "verify", "--quiet", path]);
  const branch = branchOf((await repository.run(["bundle", "list-heads", path])).stdout);
  await repository.run([...fetching, path, `${branch}:${incoming}`]);
  try {
    const wanted = await repository.resolve(incoming);
    const before = await repository.commitAll("Before an import", principal);
    if (!force && !(await repository.isAncestor(before, wanted)))
      throw new HoldfastError(
        "wrong_state",
        "the project has commits that the bundle has not: take them first (export, or `holdfast projects clone`), or import with `force`, which leaves them behind",
        { state: "diverged", commit: before, imported: wanted },
      );
    await repository.checkOut(wanted);
    await repository.run(["update-ref", "-m", "import", "HEAD", wanted, before]);
    return wanted;
  } finally {
    // One that stays is overwritten by the next import.
    await repository.run(["update-ref", "-d", incoming]).catch(() => {});
  }
};

const incoming = "refs/holdfast/import";
/** Takes the commits under a name of ours, and touches nothing else. */
const fetching: readonly string[] = [
  "fetch",
  "--quiet",
  "--no-tags",
  "--no-write-fetch-head",
  "--no-auto-maintenance",
  "--force",
];
const archiveLimits = { limit_bytes: limits.uploadBytes, limit_entries: limits.archiveEntries };

const indexOf = (path: string): string => `${path}.index`;

/** The branch of a bundle that is taken: main, else what its HEAD is, else its only branch. Throws `git_failed` when none is meant. */
const branchOf = (listed: Buffer): string => {
  const names = listed
    .toString("utf8")
    .split("\n")
    .flatMap((line) => /^[0-9a-f]{40} (HEAD|refs\/heads\/[^\p{C} ~^:?*[\\]{1,200})$/u.exec(line)?.[1] ?? []);
  const branches = names.filter((name) => name !== "HEAD");
  const found =
    names.find((name) => name === "refs/heads/main") ??
    names.find((name) => name === "HEAD") ??
    (branches.length === 1 ? branches[0] : undefined);
  if (found !== undefined) return found;
  throw new HoldfastError(
    "git_failed",
    "it does not say which branch is meant: give the bundle a branch main, or only one",
    { output: listed.toString("utf8", 0, 1000) },
  );
};

/** The same bytes; `done` is called once they were read, broke off, or nobody reads on. */
const endedBy = (bytes: AsyncIterable<Uint8Array>, done: () => Promise<void>): AsyncIterable<Uint8Array> => {
  const source = bytes[Symbol.asyncIterator]();
  let open = true;
  const end = async (): Promise<void> => {
    if (!open) return;
    open = false;
    await done();
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        try {
          const step = await source.next();
          if (step.done === true) await end();
          return step;
        } catch (error) {
          await end();
          throw error;
        }
      },
      return: async () => {
        await source.return?.();
        await end();
        return { done: true, value: undefined };
      },
    }),
  };
};
