import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory, readSettings, withLock } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";
import { hostRegistry } from "./instance.ts";

const newestKept = 2;
/** Something may just be made of it: a set-up that has not written its settings, a test. */
const usedWithinMs = 24 * 3600 * 1000;

/** Removes agents and images that no instance of this host uses any more, but for the newest of each. */
export const pruneCache = async (nowMs: number): Promise<StepResult<void>> => {
  const used = await usedByInstances().catch(() => undefined);
  if (!used)
    return {
      outcome: "skipped",
      detail: "an instance's settings cannot be read; all is kept",
      value: undefined,
    };
  const removed: string[] = [];
  for (const kind of ["agent", "images"] as const)
    removed.push(
      ...(await withLock(join(cacheDirectory, `${kind}.lock`), () =>
        pruneDirectory(join(cacheDirectory, kind), used, nowMs),
      )),
    );
  return removed.length === 0
    ? { outcome: "skipped", detail: "nothing old", value: undefined }
    : { outcome: "done", detail: `removed ${removed.length} old agents and images`, value: undefined };
};

/** Digests that must stay. Throws when the settings of an instance cannot be read: then nothing may be removed. */
const usedByInstances = async (): Promise<ReadonlySet<string>> => {
  const used = new Set<string>();
  for (const { data } of Object.values(await hostRegistry().list())) {
    const settings = await readSettings(data);
    if (!settings) continue;
    if (settings.image !== null) used.add(settings.image);
    for (const word of settings.agent.split("/")) used.add(word);
  }
  return used;
};

/** The names it removed from `directory`, whose entries are named by a digest. */
export const pruneDirectory = async (
  directory: string,
  used: ReadonlySet<string>,
  nowMs: number,
): Promise<readonly string[]> => {
  const names = (await readdir(directory).catch(() => [])).filter((name) => /^[0-9a-f]{64}(\.|$)/.test(name));
  const entries = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(directory, name))).mtimeMs })),
  );
  const old = entries
    .toSorted((one, other) => other.at - one.at)
    .slice(newestKept)
    .filter(({ name, at }) => !used.has(name.slice(0, 64)) && at < nowMs - usedWithinMs)
    .map(({ name }) => name);
  for (const name of old) await rm(join(directory, name), { recursive: true });
  return old;
};
