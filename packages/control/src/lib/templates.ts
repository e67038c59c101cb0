import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { projectDefinition } from "@holdfast/contract";
import { z } from "zod";
import type { TarEntry } from "./tar.ts";

/** A starter project, as it stands in `templates/<name>/` of the program tree. */
export interface Template {
  readonly title: string;
  readonly summary: string;
  readonly definition: z.output<typeof projectDefinition>;
  readonly files: readonly TarEntry[];
}

const directory = fileURLToPath(new URL("../../../../templates/", import.meta.url));
const mostFiles = 200;
const mostBytes = 4 * 1024 * 1024;

const head = z.object({ title: z.string(), summary: z.string(), definition: projectDefinition });

/** Read anew for each project: it is not asked for often enough to be kept in memory. Throws when the tree is not whole. */
export const readTemplate = async (name: string): Promise<Template> => {
  const root = join(directory, name, "files");
  const { title, summary, definition } = head.parse(
    JSON.parse(await readFile(join(directory, name, "template.json"), "utf8")),
  );
  const found = (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  if (found.length > mostFiles) throw new Error(`template ${name} has more than ${mostFiles} files`);
  const files = await Promise.all(
    found.map(async (entry): Promise<TarEntry> => {
      const path = join(entry.parentPath, entry.name);
      const [content, { mode }] = await Promise.all([readFile(path), stat(path)]);
      return { path: relative(root, path), content, executable: (mode & 0o111) !== 0 };
    }),
  );
  if (files.reduce((sum, file) => sum + file.content.length, 0) > mostBytes)
    throw new Error(`template ${name} is over ${mostBytes} bytes`);
  return { title, summary, definition, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
};
