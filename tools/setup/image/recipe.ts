import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const recipeSchema = z.object({
  name: z.string(),
  suite: z.string(),
  components: z.array(z.string()),
  variant: z.enum(["minbase", "essential", "apt"]),
  /** Package and what for. */
  packages: z.record(z.string(), z.string()),
  npm: z.object({ version: z.string(), integrity: z.string().startsWith("sha512-") }),
  /** Files that may carry a setuid or setgid bit; all others are refused at unpack. */
  setuid: z.array(z.string()),
});

export interface Recipe extends z.output<typeof recipeSchema> {
  readonly directory: string;
  /** Of everything that decides what is in the image: the recipe's files and the version of Node copied in. */
  readonly digest: string;
  readonly nodeVersion: string;
}

/** Reads `images/<name>/`. The digest names the image everywhere. */
export const readRecipe = async (source: string, name: string): Promise<Recipe> => {
  const directory = join(source, "images", name);
  const nodePackage = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(source, "node_modules/node/package.json"), "utf8")));
  const hash = createHash("sha256").update(`${nodePackage.version}\0${process.arch}\0`);
  for (const file of (await readdir(directory)).sort()) {
    hash
      .update(`${file}\0`)
      .update(await readFile(join(directory, file)))
      .update("\0");
  }
  const content = recipeSchema.parse(JSON.parse(await readFile(join(directory, "recipe.json"), "utf8")));
  return { ...content, directory, digest: hash.digest("hex"), nodeVersion: nodePackage.version };
};
