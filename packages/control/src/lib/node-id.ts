import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { idPattern } from "@holdfast/contract";
import { type NewId, writeDurably } from "@holdfast/kit";

/** This host's id, kept in control's own directory: operations and computers carry it. */
export const readNodeId = async (dataDirectory: string, ids: NewId): Promise<string> => {
  const path = join(dataDirectory, "node-id");
  const known = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (known !== undefined) {
    if (idPattern("node").test(known.trim())) return known.trim();
    throw new Error(`${path} does not hold a node id: restore it from a backup, do not delete it`);
  }
  const fresh = ids("node");
  await writeDurably(path, `${fresh}\n`);
  return fresh;
};
