import { idSchema } from "@holdfast/contract";
import { writeDurably, type NewId } from "@holdfast/kit";
import { readIfThere } from "./files.ts";

/** The id of this host, made at the first start and kept in `path`: names of hosts change and are given twice. */
export const keepNodeId = async (path: string, newId: NewId): Promise<string> => {
  const kept = await readIfThere(path);
  if (kept !== undefined) {
    const parsed = idSchema("node").safeParse(kept.trim());
    if (parsed.success) return parsed.data;
    throw new Error(`${path} is damaged. Restore it from a backup, or remove it to give this host a new id.`);
  }
  const made = newId("node");
  await writeDurably(path, `${made}\n`);
  return made;
};
