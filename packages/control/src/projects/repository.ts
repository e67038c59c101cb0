import { HoldfastError, limits } from "@holdfast/contract";
import type { Principal } from "../domain/principal.ts";
import type { Git, GitOptions, GitPlace } from "./git.ts";

/** A commit as git in the computer tells of it. */
export interface Commit {
  readonly id: string;
  readonly atMs: number;
  readonly author: string;
  readonly message: string;
}

export interface CommitOptions {
  /** Also when there is nothing to commit. */
  readonly allowEmpty?: boolean;
}

/**
 * The git repository of one project, inside its cell. All that is read from it is text from the cell: commit ids must look like ones, the
 * rest is bounded and only shown.
 */
export class Repository {
  readonly #git: Git;
  readonly #place: GitPlace;

  constructor(git: Git, place: GitPlace) {
    this.#git = git;
    this.#place = place;
  }

  async init(): Promise<void> {
    await this.run(["init", "--quiet", "--initial-branch=main", "--template="]);
  }

  /** The last commit. */
  head(): Promise<string> {
    return this.resolve("HEAD");
  }

  /** Throws `not_found` for a commit that the repository does not have. */
  async commit(asked: string): Promise<string> {
    const { exitCode, stdout } = await this.run(["rev-parse", "--quiet", "--verify", `${asked}^{commit}`], {
      answers: [0, 1, 128],
    });
    if (exitCode !== 0)
      throw new HoldfastError("not_found", `the project has no commit ${asked}`, { commit: asked });
    return commitIdOf(stdout);
  }

  /**
   * First line of a commit's message, bounded, and without what a terminal would obey: it may be anyone's. Empty for one without a message.
   */
  async subject(commit: string): Promise<string> {
    const { stdout } = await this.run(["log", "-1", "--encoding=UTF-8", "--format=%s", commit, "--"], {
      mostBytes: subjectBytes,
      mayBeCut: true,
    });
    return stdout
      .toString("utf8")
      .replaceAll(/\p{C}/gu, " ")
      .trim()
      .slice(0, limits.commitMessageLength)
      .toWellFormed();
  }

  /** Commits all that is in the folder. Answers that commit, or the last one when nothing has changed. */
  async commitAll(message: string, author: Principal, options?: CommitOptions): Promise<string> {
    await this.run(["add", "--all"]);
    return this.commitIndex(message, author, options);
  }

  /** Commits what is in the index, as `commitAll`. */
  async commitIndex(message: string, author: Principal, options: CommitOptions = {}): Promise<string> {
    const { exitCode, said } = await this.run(
      [...committing, ...(options.allowEmpty === true ? ["--allow-empty"] : []), "-m", message],
      { answers: [0, 1], environment: identityOf(author) },
    );
    // With 1 there was nothing to commit, or it did not work: then something is left over.
    if (exitCode === 1 && (await this.#isLeftOver()))
      throw new HoldfastError("git_failed", `git commit said: ${said.split("\n", 1)[0] ?? ""}`, {
        output: said,
      });
    return this.head();
  }

  async #isLeftOver(): Promise<boolean> {
    const { exitCode } = await this.run(["diff", "--cached", "--quiet", "--no-ext-diff", "HEAD", "--"], {
      answers: [0, 1],
    });
    return exitCode === 1;
  }

  /** Makes index and tracked files as they are in `tree` (a commit or a tree). Untracked files stay. */
  async checkOut(tree: string): Promise<void> {
    await this.run(["read-tree", "--reset", "-u", tree]);
  }

  /** At most `limit` commits, newest first, `skip` behind `from`. */
  async log(from: string, skip: number, limit: number): Promise<readonly Commit[]> {
    const { stdout } = await this.run(
      [
        "log",
        "-z",
        "--encoding=UTF-8",
        "--format=%H%n%at%n%an%n%B",
        `--skip=${skip}`,
        `-n${limit}`,
        from,
        "--",
      ],
      { mostBytes: limits.gitOutputBytes },
    );
    const records = stdout.toString("utf8").split("\0");
    return records.filter((record) => record !== "").map(commitOf);
  }

  /** The tree of all that is in `folder`, also of what git should take no notice of. The repository's own index stays as it is. */
  treeOfFolder(folder: string, index: string): Promise<string> {
    return this.#treeWith(["--force"], { GIT_INDEX_FILE: index, GIT_WORK_TREE: folder });
  }

  /** The tree of what `commitAll` would commit, which it leaves to do. */
  async treeToCommit(index: string): Promise<string> {
    const environment = { GIT_INDEX_FILE: index };
    await this.run(["read-tree", "HEAD"], { environment });
    return this.#treeWith([], environment);
  }

  /** `GIT_INDEX_FILE` is made for it, or filled already. */
  async #treeWith(
    options: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<string> {
    await this.run(["add", "--all", ...options, "."], { environment });
    const { stdout } = await this.run(["write-tree"], { environment });
    return commitIdOf(stdout);
  }

  async diff(from: string, to: string, mostBytes: number): Promise<{ text: string; cut: boolean }> {
    const { stdout, cut } = await this.run(
      ["diff", "--no-ext-diff", "--no-textconv", "--find-renames", from, to, "--"],
      { mostBytes, mayBeCut: true },
    );
    return { text: stdout.toString("utf8"), cut };
  }

  /** Whether `older` is `newer` or before it. */
  async isAncestor(older: string, newer: string): Promise<boolean> {
    const { exitCode } = await this.run(["merge-base", "--is-ancestor", older, newer], { answers: [0, 1] });
    return exitCode === 0;
  }

  async resolve(name: string): Promise<string> {
    const { stdout } = await this.run(["rev-parse", "--verify", `${name}^{commit}`]);
    return commitIdOf(stdout);
  }

  run(args: readonly string[], options?: GitOptions) {
    return this.#git(this.#place, args, options);
  }
}

/** The message as it stands, and no hook. */
const committing: readonly string[] = [
  "commit",
  "--quiet",
  "--no-verify",
  "--cleanup=verbatim",
  "--allow-empty-message",
];

/** Who is on a commit that Holdfast makes: the acting principal, with an address that leads nowhere. */
const identityOf = ({ id, name }: Principal): Readonly<Record<string, string>> => {
  const shown = name.replaceAll(/[\p{C}<>]/gu, " ").trim() || id;
  const email = `${id}@holdfast.invalid`;
  return {
    GIT_AUTHOR_NAME: shown,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: shown,
    GIT_COMMITTER_EMAIL: email,
  };
};

const commitIdOf = (stdout: Buffer): string => {
  const id = stdout.toString("latin1").replace(/\n$/, "");
  if (/^[0-9a-f]{40}$/.test(id)) return id;
  throw unreadable();
};

/** Last second that RFC 3339 can say. */
const latest = 253_402_300_799;

const commitOf = (record: string): Commit => {
  const [, id, seconds, author, message] =
    /^([0-9a-f]{40})\n(\d{1,12})\n([^\n]*)\n([\s\S]*)$/.exec(record) ?? [];
  if (id === undefined || seconds === undefined || author === undefined || message === undefined)
    throw unreadable();
  return {
    id,
    atMs: Math.min(Number(seconds), latest) * 1000,
    author: author.slice(0, shownAuthor),
    message: message.trimEnd().slice(0, limits.commitMessageLength),
  };
};

const shownAuthor = 200;
const subjectBytes = 4 * limits.commitMessageLength;

const unreadable = (): HoldfastError =>
  new HoldfastError(
    "git_failed",
    "git in the computer did not answer as git does: the project's repository, or git itself, is not what it was",
    { output: "" },
  );
