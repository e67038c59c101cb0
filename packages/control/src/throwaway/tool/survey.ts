import { mark, ownBytesMost } from "./format.ts";
import { isInKept, isLeftOut } from "./layout.ts";
import { namesIn, type Node, nodeAt } from "./nodes.ts";
import { type Path, pathOfText } from "./paths.ts";
import { Refusal } from "./refusal.ts";

/** A tree as it is shown to a throwaway cell. */
export interface PackedTree {
  readonly directory: Path;
  readonly purpose: "archive" | "export";
}

/** What is packed, in the order of the archive, with names as they stand there. */
export function* packed(
  tree: PackedTree,
  leftOut: () => void = () => {},
): Generator<[name: Path, node: Node]> {
  yield* below(tree, "work", "work", leftOut);
  yield* below(tree, "changes", "", leftOut);
}

function* below(
  tree: PackedTree,
  name: Path,
  rel: Path,
  leftOut: () => void,
): Generator<[name: Path, node: Node]> {
  const place = `${tree.directory}/${name}`;
  const node = nodeAt(place);
  if (!node || isGone(node)) return;
  if (!isPackable(node, tree.purpose)) return leftOut();
  // The root of the changes is `/`, which every computer has.
  if (rel !== "") yield [name, node];
  if (node.kind !== "directory") return;
  for (const child of namesIn(place)) {
    const path = rel === "" ? child : `${rel}/${child}`;
    if (name.startsWith("changes") && isLeftOut(path, tree.purpose)) continue;
    yield* below(tree, `${name}/${child}`, path, leftOut);
  }
}

/**
 * What the root has no longer of its image. A name that was deleted stands in the changes as a device 0:0. What says that a directory was
 * replaced cannot be read in a cell, but it shows: nothing of the image is seen in it. Then whatever an image may have there is to go.
 */
export const removed = (tree: PackedTree): Buffer => {
  const records: Buffer[] = [];
  let bytes = 0;
  const push = (kind: string, path: Path): void => {
    const record = Buffer.from(`${kind}${path}\0`, "latin1");
    bytes += record.length;
    if (bytes > ownBytesMost.removed)
      throw new Refusal("limit_reached", "more is deleted than can be packed");
    records.push(record);
  };
  const visit = (path: Path): void => {
    const changes = join(`${tree.directory}/changes`, path);
    const own = namesIn(changes);
    const staying: Path[] = [];
    for (const name of own) {
      const child = join(path, name);
      if (isInKept(child)) continue;
      const node = nodeAt(`${changes}/${name}`);
      if (!node) continue;
      if (isGone(node)) push(mark.gone, child);
      else {
        staying.push(name);
        if (node.kind === "directory") visit(child);
      }
    }
    const isAlone = (): boolean => {
      const names = new Set(staying);
      return namesIn(join(`${tree.directory}/root`, path)).every(
        (name) => names.has(name) || isInKept(join(path, name)),
      );
    };
    if (path !== "" && isAlone()) push(mark.alone, path);
  };
  visit(pathOfText(""));
  return Buffer.concat(records, bytes);
};

const isGone = ({ kind, facts }: Node): boolean => kind === "device" && facts.rdev === 0n;

/** A pipe is packed with a computer that comes back; a socket is dead without who made it, and devices are nobody's. */
const isPackable = ({ kind }: Node, purpose: PackedTree["purpose"]): boolean =>
  kind !== "socket" && kind !== "device" && (kind !== "fifo" || purpose === "archive");

const join = (directory: Path, name: Path): Path =>
  name === "" ? directory : directory === "" ? name : `${directory}/${name}`;
