import { plainPath } from "./format.ts";
import { isInKept } from "./layout.ts";
import { type Path, shown } from "./paths.ts";
import { Refusal } from "./refusal.ts";
import type { Member } from "./tar-reader.ts";

/**
 * Judges the members below `work` and `changes` one after the other. As each must stand in a directory that the archive itself has brought, in the
 * order of bytes, nothing comes twice, and nothing comes through a link.
 */
export class Order {
  readonly #purpose: "archive" | "export";
  readonly #mostEntries: number;
  /** From the top to where the walk is; each with the last name that came in it. */
  readonly #open: { readonly path: Path; last: Path }[] = [{ path: "changes", last: "" }];
  readonly #files = new Set<Path>();
  #entries = 0;
  #workIsOver = false;

  constructor(purpose: "archive" | "export", mostEntries: number) {
    this.#purpose = purpose;
    this.#mostEntries = mostEntries;
  }

  get entries(): number {
    return this.#entries;
  }

  /** The path in the archive, plain. Throws a `Refusal`. */
  judge(member: Member): Path {
    const path = plainPath(member.name);
    const refuse = (why: string): Refusal => new Refusal("archive_refused", why, shown(member.name));
    if (path === undefined) throw refuse("its path is not plain");
    if ((this.#entries += 1) > this.#mostEntries) throw new Refusal("too_large", "it has too many entries");
    this.#place(path, refuse);
    if (path.startsWith("changes/") && this.#isReserved(path.slice("changes/".length)))
      throw refuse("it is not a computer's own to bring");
    if (this.#purpose === "export" && member.kind === "fifo") throw refuse("it is a pipe");
    if (this.#purpose === "export" && member.kind === "file" && (member.mode & 0o6000) !== 0)
      throw refuse("it is setuid or setgid");
    if (member.kind === "hard link") {
      const target = plainPath(member.target);
      if (target === undefined || !this.#files.has(target)) throw refuse("it links to what has not come");
    }
    if (member.kind === "file") this.#files.add(path);
    if (member.kind === "directory") this.#open.push({ path, last: "" });
    return path;
  }

  /** A path of `removed`. */
  judgeRemoved(path: Path): Path {
    if (plainPath(path) !== path || this.#isReserved(path))
      throw new Refusal("archive_refused", "it is not a computer's own to take away", shown(path));
    return path;
  }

  #isReserved(path: Path): boolean {
    const state = "var/lib/holdfast";
    const isState = path === state || path.startsWith(`${state}/`);
    return (
      path === "work" ||
      path.startsWith("work/") ||
      (isInKept(path) && !(this.#purpose === "archive" && isState))
    );
  }

  #place(path: Path, refuse: (why: string) => Refusal): void {
    const at = path.lastIndexOf("/");
    const name = path.slice(at + 1);
    if (at === -1) {
      if (path !== "work" || this.#workIsOver || this.#entries > 1) throw refuse("it is none that is known");
      return;
    }
    const parent = path.slice(0, at);
    while (this.#open.length > 0 && this.#open.at(-1)?.path !== parent) {
      if (this.#open.at(-1)?.path === "work") this.#workIsOver = true;
      this.#open.pop();
    }
    const directory = this.#open.at(-1);
    if (!directory) throw refuse("its directory has not come before it");
    if (directory.last !== "" && name <= directory.last) throw refuse("it is out of order");
    directory.last = name;
  }
}
