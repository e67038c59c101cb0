import { lstat, readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { limits, operations, projectDefinition } from "@holdfast/contract";
import { z } from "zod";
import type { TarEntry } from "./tar.ts";

/** A starter project: its own files in `templates/<name>/files`, and those it takes from `templates/common`. */
export interface Template {
  readonly title: string;
  readonly summary: string;
  readonly definition: z.output<typeof projectDefinition>;
  /** What its projects run at set times: as `schedule.create` takes it, without a place. */
  readonly schedules: readonly z.output<typeof starterSchedule>[];
  readonly files: readonly TarEntry[];
}

const shipped = fileURLToPath(new URL("../../../../templates/", import.meta.url));
const mostFiles = 200;
const mostBytes = 4 * 1024 * 1024;

/** Below a folder and in its plainest spelling, so that two of the same file are equal. */
const commonPath = z.string().regex(/^(?!\.{1,2}(?:\/|$))[\w.-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)*$/);

const {
  computer: _computer,
  project: _project,
  ...scheduleShape
} = operations["schedule.create"].input.shape;
const starterSchedule = z.strictObject(scheduleShape);

const head = z.strictObject({
  title: z.string(),
  summary: z.string(),
  /** Paths below `templates/common`, the same in the project. Undefined and empty: its own files are all it has. */
  common: z.array(commonPath).max(mostFiles).default([]),
  definition: projectDefinition,
  /** Undefined and empty: it runs nothing at set times. */
  schedules: z.array(starterSchedule).max(limits.schedulesPerComputer).default([]),
});

/** Read anew for each project: it is not asked for often enough to be kept in memory. Throws when the tree is not whole. */
export const readTemplate = async (name: string, directory = shipped): Promise<Template> => {
  const own = join(directory, name, "files");
  const { common, ...template } = head.parse(
    JSON.parse(await readFile(join(directory, name, "template.json"), "utf8")),
  );
  const found = (await readdir(own, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const paths = [...found.map((entry) => relative(own, join(entry.parentPath, entry.name))), ...common];
  if (paths.length > mostFiles) throw new Error(`template ${name} has more than ${mostFiles} files`);
  const twice = paths.find((one, index) => paths.indexOf(one) !== index);
  if (twice !== undefined) throw new Error(`template ${name} has ${twice} twice`);
  const files = await Promise.all(
    paths.map((one, index) => entryOf(index < found.length ? own : join(directory, "common"), one)),
  );
  if (files.reduce((sum, file) => sum + file.content.length, 0) > mostBytes)
    throw new Error(`template ${name} is over ${mostBytes} bytes`);
  return { ...template, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
};

const entryOf = async (folder: string, path: string): Promise<TarEntry> => {
  const place = join(folder, path);
  const status = await lstat(place);
  if (!status.isFile()) throw new Error(`${place} is no file`);
  return { path, content: await readFile(place), executable: (status.mode & 0o111) !== 0 };
};
