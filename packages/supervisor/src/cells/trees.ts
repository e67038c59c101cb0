import { HoldfastError } from "@holdfast/contract";
import type { ShownTree, TreeSource } from "../volumes/index.ts";
import type { CellParts } from "./parts.ts";

export interface TreeWish {
  readonly name: "a" | "b" | "archive";
  readonly source: TreeSource;
}

/** What a cell is shown of other computers, as the helper takes it. */
export type TreeSpec =
  | { readonly kind: "files"; readonly name: "a" | "b"; readonly volume: string; readonly image: string }
  | { readonly kind: "archive"; readonly volume: string; readonly read_only: boolean };

/** What there is of each tree, as the helper names it in the bundle: the first three are shown, `image` is below `root`. */
const parts = ["work", "changes", "root", "image"] as const;

/** Everything that the helper makes in a bundle for trees. */
export const treePoints: readonly string[] = [
  "tree-archive",
  ...["a", "b"].flatMap((name) => parts.map((part) => `tree-${name}-${part}`)),
];

/** Throws `invalid_input` where a name is given twice or to what it is not for; what `Volumes.tree` throws. */
export const planTrees = async (
  { volumes, images }: Pick<CellParts, "volumes" | "images">,
  wishes: readonly TreeWish[],
): Promise<readonly TreeSpec[]> => {
  if (new Set(wishes.map(({ name }) => name)).size < wishes.length) throw refuse("a name is given twice");
  return Promise.all(
    wishes.map(async ({ name, source }): Promise<TreeSpec> => {
      const tree: ShownTree = volumes.tree(source);
      if (tree.kind === "archive" && name === "archive")
        return { kind: tree.kind, volume: tree.volume, read_only: tree.readOnly };
      if (tree.kind === "archive" || name === "archive") throw refuse("an archive is named archive");
      const { path } = await images.find(tree.image);
      return { kind: tree.kind, name, volume: tree.volume, image: path };
    }),
  );
};

/** Where in the cell each is, and where in the bundle. */
export interface TreeMount {
  readonly destination: string;
  readonly source: string;
  readonly readOnly: boolean;
}

export const treeMounts = (specs: readonly TreeSpec[]): readonly TreeMount[] =>
  specs.flatMap((spec): readonly TreeMount[] => {
    if (spec.kind === "archive")
      return [{ destination: "/trees/archive", source: "tree-archive", readOnly: spec.read_only }];
    return parts
      .filter((part) => part !== "image")
      .map((part) => ({
        destination: `/trees/${spec.name}/${part}`,
        source: `tree-${spec.name}-${part}`,
        readOnly: true,
      }));
  });

const refuse = (what: string): HoldfastError =>
  new HoldfastError("invalid_input", `these trees cannot be shown: ${what}`, {
    issues: [{ path: "trees", message: what }],
  });
