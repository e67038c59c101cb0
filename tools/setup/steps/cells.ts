import { readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { command, exists, tryCommand } from "@holdfast/launcher";
import type { Clock } from "@holdfast/kit";

const root = "/sys/fs/cgroup";
const killWithinMs = 10_000;

/**
 * Ends whatever runs in cells of the instance and takes their cgroups and namespaces away, by the names that its short id gives them. For
 * when there is no supervisor to ask: before set-up was through, or when its own cannot start. Whether anything was there.
 */
export const removeCells = async (shortId: string, clock: Clock): Promise<boolean> => {
  const own = `holdfast-${shortId}`;
  const hierarchies = [root, ...(await readdir(root)).map((name) => join(root, name))];
  const groups: string[] = [];
  for (const hierarchy of hierarchies)
    if (await exists(join(hierarchy, own))) groups.push(join(hierarchy, own));
  for (const group of groups) await killGroup(group, clock);
  for (const group of groups) await removeGroup(group);
  const listed = await tryCommand(["ip", "netns", "list"]);
  const namespaces = listed.stdout
    .split("\n")
    .map((line) => line.split(" ")[0] ?? "")
    .filter((name) => name.startsWith(`hf${shortId}-`));
  for (const name of namespaces) await command(["ip", "netns", "delete", name]);
  return groups.length + namespaces.length > 0;
};

/** On the v2 hierarchy only; there is every process of a cell in it. */
const killGroup = async (group: string, clock: Clock): Promise<void> => {
  const events = join(group, "cgroup.events");
  if (!(await exists(events))) return;
  await writeFile(join(group, "cgroup.kill"), "1", { flag: "r+" });
  const deadline = clock.monotonic() + killWithinMs;
  while (/^populated 1$/m.test(await readFile(events, "utf8"))) {
    if (clock.monotonic() > deadline) throw new Error(`${group} still had processes after 10 s`);
    await clock.sleep(10);
  }
};

const removeGroup = async (group: string): Promise<void> => {
  for (const entry of await readdir(group, { withFileTypes: true }))
    if (entry.isDirectory()) await removeGroup(join(group, entry.name));
  await rmdir(group);
};
