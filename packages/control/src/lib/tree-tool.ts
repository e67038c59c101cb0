import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { TarEntry } from "./tar.ts";

const shipped = fileURLToPath(new URL("../throwaway/tool/", import.meta.url));

/** The files of the tool that walks trees, as a cell is handed them. They are never run here. */
export const readTreeTool = async (): Promise<readonly TarEntry[]> => {
  const names = (await readdir(shipped)).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const files = names.map(async (path) => ({
    path,
    content: await readFile(`${shipped}${path}`),
    executable: false,
  }));
  const kind = { path: "package.json", content: Buffer.from('{"type":"module"}\n'), executable: false };
  return [kind, ...(await Promise.all(files))];
};
