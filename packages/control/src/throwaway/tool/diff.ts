import { closeSync, readSync } from "node:fs";
import { isLeftOut } from "./layout.ts";
import { modeOf, namesIn, type Node, nodeAt, openFile, targetOf } from "./nodes.ts";
import { isBefore, type Path, pathOf, pathOfText, shown } from "./paths.ts";
import { Refusal } from "./refusal.ts";
import type { DiffAnswer, DiffRequest } from "./request.ts";

type Difference = DiffAnswer["differences"][number];

/** Text of one page; names of 4,095 bytes are possible, and nobody reads them. */
const pageBytes = 2 * 1024 * 1024;
/** Above this, content of equal length is not read: the file counts as changed, because it was written. */
const comparedBytes = 8n * 1024n ** 3n;
const chunkBytes = 256 * 1024;

/** Everything that `b` has otherwise than `a`. Equal requests on equal trees walk in the same order, so pages fit together. */
export const diff = (request: DiffRequest): DiffAnswer => new Comparison(request).run();

/** The two sides of one directory or node: paths to stand in for it, or undefined where it is not looked at. */
interface Sides {
  readonly a: Path;
  readonly b: Path;
  /** Where each has only what it has over its image. Undefined: everything below is compared. */
  readonly changes: readonly [Path, Path] | undefined;
}

class Full extends Error {}

class Comparison {
  readonly #request: DiffRequest;
  readonly #after: Path | undefined;
  readonly #page: Difference[] = [];
  #bytes = 0;
  #last: Path | undefined;
  #next: string | null = null;
  readonly #counts = { added: 0, changed: 0, removed: 0 };

  constructor(request: DiffRequest) {
    this.#request = request;
    this.#after = request.after === null ? undefined : pathOf(Buffer.from(request.after, "base64url"));
  }

  run(): DiffAnswer {
    let truncated = false;
    try {
      this.#begin();
    } catch (error) {
      if (!(error instanceof Full)) throw error;
      truncated = true;
    }
    return { differences: this.#page, ...this.#counts, truncated, next: this.#next };
  }

  #begin(): void {
    const parts = pathOfText(this.#request.path ?? "/")
      .split("/")
      .filter((part) => part !== "");
    const rel = parts.join("/");
    if (rel === "") return this.#directory("", this.#root(""));
    const sidesOf = (path: Path): Sides => (isInWork(path) ? this.#work(path) : this.#root(path));
    // Nothing is looked for behind a link.
    const leads = parts.slice(0, -1).map((_, index) => sidesOf(parts.slice(0, index + 1).join("/")));
    const isThere = (side: "a" | "b"): boolean =>
      nodeAt(sidesOf(rel)[side]) !== undefined &&
      leads.every((lead) => nodeAt(lead[side])?.kind === "directory");
    if (!isThere("a") && !isThere("b"))
      throw new Refusal("file_not_found", "neither has anything at this path", this.#request.path);
    this.#node(rel, sidesOf(rel));
  }

  #root(rel: Path): Sides {
    const [a, b] = [pathOfText(this.#request.a), pathOfText(this.#request.b)];
    return {
      a: join(`${a}/root`, rel),
      b: join(`${b}/root`, rel),
      changes: [join(`${a}/changes`, rel), join(`${b}/changes`, rel)],
    };
  }

  #work(rel: Path): Sides {
    return {
      a: `${pathOfText(this.#request.a)}/${rel}`,
      b: `${pathOfText(this.#request.b)}/${rel}`,
      changes: undefined,
    };
  }

  /**
   * What is in neither's changes both have from their common image, and it is not looked at. Where one has replaced a directory of the image,
   * only names that both still see come here.
   */
  #directory(rel: Path, sides: Sides): void {
    const changed = sides.changes && new Set(sides.changes.flatMap((side) => namesIn(side)));
    for (const name of merge(namesIn(sides.a), namesIn(sides.b))) {
      const path = join(rel, name);
      if (path === "work") this.#node(path, this.#work(path));
      else if (isInWork(path) || !isLeftOut(path, "export")) {
        const below = {
          a: `${sides.a}/${name}`,
          b: `${sides.b}/${name}`,
          changes: sides.changes && ([`${sides.changes[0]}/${name}`, `${sides.changes[1]}/${name}`] as const),
        };
        if (changed && !changed.has(name) && nodeAt(below.a) && nodeAt(below.b)) continue;
        this.#node(path, below);
      }
    }
  }

  #node(rel: Path, sides: Sides): void {
    const a = nodeAt(sides.a);
    const b = nodeAt(sides.b);
    const change = a && b ? isChanged(sides, a, b) && "changed" : a ? "removed" : b && "added";
    if (change) this.#add(rel, change, a, b);
    if (a?.kind === "directory" && b?.kind === "directory") this.#directory(rel, sides);
    else if (a?.kind === "directory" || b?.kind === "directory")
      this.#directory(rel, { ...sides, changes: undefined });
  }

  #add(rel: Path, change: Difference["change"], a: Node | undefined, b: Node | undefined): void {
    const { added, changed, removed } = this.#counts;
    if (added + changed + removed >= this.#request.most) throw new Full();
    this.#counts[change] += 1;
    if (this.#next !== null || (this.#after !== undefined && !isBefore(this.#after, rel))) return;
    const path = `/${shown(rel)}`;
    if (this.#page.length === this.#request.limit || this.#bytes + path.length > pageBytes) {
      this.#next = Buffer.from(this.#last ?? "", "latin1").toString("base64url");
      return;
    }
    this.#bytes += path.length;
    this.#last = rel;
    this.#page.push({
      path,
      change,
      kind: kindOf(b ?? a),
      size_before: sizeOf(a),
      size_after: sizeOf(b),
    });
  }
}

const isChanged = (sides: Sides, a: Node, b: Node): boolean => {
  if (a.kind !== b.kind || modeOf(a) !== modeOf(b)) return true;
  if (a.facts.uid !== b.facts.uid || a.facts.gid !== b.facts.gid) return true;
  if (a.kind === "link") return targetOf(sides.a) !== targetOf(sides.b);
  if (a.kind !== "file") return false;
  if (a.facts.size !== b.facts.size) return true;
  // A snapshot keeps the numbers of its files, and nobody in a cell can set the time of a change.
  const isTheSame =
    a.facts.ino === b.facts.ino && a.facts.ctimeNs === b.facts.ctimeNs && a.facts.mtimeNs === b.facts.mtimeNs;
  if (isTheSame || a.facts.size === 0n) return false;
  return a.facts.size > comparedBytes || !hasSameContent(sides.a, sides.b);
};

const hasSameContent = (a: Path, b: Path): boolean => {
  const files = [openFile(a), openFile(b)] as const;
  const [one, other] = files;
  try {
    if (one === undefined || other === undefined) return false;
    const chunks = [Buffer.allocUnsafe(chunkBytes), Buffer.allocUnsafe(chunkBytes)] as const;
    for (let at = 0; ; ) {
      const length = fill(one, chunks[0], at);
      if (length !== fill(other, chunks[1], at)) return false;
      if (length === 0) return true;
      if (!chunks[0].subarray(0, length).equals(chunks[1].subarray(0, length))) return false;
      at += length;
    }
  } finally {
    for (const file of files) if (file !== undefined) closeSync(file);
  }
};

/** A read may be short before the end. */
const fill = (file: number, chunk: Buffer, at: number): number => {
  let length = 0;
  while (length < chunk.length) {
    const got = readSync(file, chunk, length, chunk.length - length, at + length);
    if (got === 0) break;
    length += got;
  }
  return length;
};

const kindOf = (node: Node | undefined): Difference["kind"] =>
  node?.kind === "file" || node?.kind === "directory" || node?.kind === "link" ? node.kind : "other";

const sizeOf = (node: Node | undefined): number | null =>
  node?.kind === "file" ? Number(node.facts.size) : null;

const isInWork = (path: Path): boolean => path === "work" || path.startsWith("work/");

const join = (directory: Path, name: Path): Path =>
  name === "" ? directory : directory === "" ? name : `${directory}/${name}`;

/** Two lists in order as one, each name once. */
const merge = (one: readonly Path[], other: readonly Path[]): readonly Path[] =>
  [...new Set([...one, ...other])].sort();
