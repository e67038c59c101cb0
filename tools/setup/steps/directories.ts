import { chmod, chown, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  command,
  findMount,
  lookUpUser,
  userNames,
  type InstanceSettings,
  type Places,
} from "@holdfast/launcher";
import { socketPath } from "@holdfast/contract";
import type { StepResult } from "../progress.ts";

interface Directory {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Directories of the instance with owner and mode, on disk and in /run. Modes that drifted are set right. */
export const ensureDirectories = async (
  settings: InstanceSettings,
  places: Places,
): Promise<StepResult<void>> => {
  const control = await lookUpUser(userNames.control);
  const postgres = settings.database === "private" ? await lookUpUser(userNames.postgres) : undefined;
  const root = (path: string, mode: number, gid = 0): Directory => ({ path, mode, uid: 0, gid });
  const wanted: readonly Directory[] = [
    root(places.data, 0o711),
    root(places.log, 0o700),
    root(places.poolGuard, 0o700),
    { path: places.control, mode: 0o700, ...control },
    root(dirname(places.run), 0o711),
    root(places.run, 0o711),
    root(places.tree, 0o755),
    root(places.records, 0o700),
    root(places.cells, 0o711),
    ...["supervisor", "control", "gateway"].map((callee) =>
      root(dirname(socketPath(settings.instance, callee, "x")), 0o711),
    ),
    ...(postgres ? [{ path: places.postgresSocket, mode: 0o750, uid: postgres.uid, gid: control.gid }] : []),
  ];
  const changed: string[] = [];
  for (const directory of wanted) if (await ensureDirectory(directory)) changed.push(directory.path);
  return changed.length === 0
    ? { outcome: "skipped", detail: `${places.data}, ${places.run}`, value: undefined }
    : { outcome: "done", detail: `${places.data}, ${places.run}`, value: undefined };
};

const ensureDirectory = async ({ path, mode, uid, gid }: Directory): Promise<boolean> => {
  let changed = (await mkdir(path, { recursive: true, mode })) !== undefined;
  // A bind's own rights are those of what is bound; only the plain directory below is ours.
  if (await findMount(path)) return changed;
  const now = await stat(path);
  if (now.uid !== uid || now.gid !== gid) {
    await chown(path, uid, gid);
    changed = true;
  }
  if ((now.mode & 0o7777) !== mode) {
    await chmod(path, mode);
    changed = true;
  }
  return changed;
};

/** Shows the program tree read-only at a place that the programs' users can reach: a clone under /root is closed to them. */
export const ensureTree = async (source: string, places: Places): Promise<StepResult<void>> => {
  const { opened, told } = await openTree(source);
  const detail = told === "" ? source : `${source}; ${told}`;
  const mount = await findMount(places.tree);
  if (mount) {
    const [shown, wanted] = [await stat(places.tree), await stat(source)];
    if (shown.dev === wanted.dev && shown.ino === wanted.ino && mount.options.includes("ro")) {
      return { outcome: opened ? "changed" : "skipped", detail, value: undefined };
    }
    // Programs that run from the old tree keep it; it goes away with the last of them.
    await command(["umount", "--lazy", places.tree]);
  }
  await command(["mount", "--bind", source, places.tree]);
  await command(["mount", "-o", "remount,bind,ro,nosuid,nodev", places.tree]);
  return { outcome: mount ? "changed" : "done", detail, value: undefined };
};

/** What the programs' users read. A clone made under a strict umask is closed to them. */
const readByPrograms = ["package.json", "packages", "policy", "node_modules"];

/**
 * Makes these parts readable to everybody who can reach them at all, and lets the clone's own directory be passed, for that is the root of
 * the bind; whether anything had to be, and what to tell whoever keeps the clone's directory shut.
 */
const openTree = async (source: string): Promise<{ readonly opened: boolean; readonly told: string }> => {
  const { mode } = await stat(source);
  const shut = (mode & passable) !== passable;
  if (shut) await chmod(source, (mode & 0o7777) | passable);
  const closed = [
    "(",
    "-type",
    "d",
    "-not",
    "-perm",
    "-005",
    "-o",
    "-type",
    "f",
    "-not",
    "-perm",
    "-004",
    ")",
  ];
  const paths = readByPrograms.map((name) => join(source, name));
  const found = await command([
    "find",
    ...paths,
    "-xdev",
    ...closed,
    "-print",
    "-exec",
    "chmod",
    "go+rX",
    "{}",
    "+",
  ]);
  const octal = (bits: number): string => (bits & 0o777).toString(8).padStart(3, "0");
  const told = shut
    ? `the mode of this directory is ${octal(mode | passable)} now, was ${octal(mode)}: the programs' users pass through it`
    : "";
  return { opened: shut || found !== "", told };
};

/** To go through it by name, not to list it. */
const passable = 0o011;
