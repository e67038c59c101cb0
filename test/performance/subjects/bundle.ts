import { chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What of the runtime's configuration is changed for a peer; all else stays as the cell has it. */
interface Config {
  process: { args: readonly string[] };
  root: { path: string };
  mounts: { destination: string; source: string }[];
  hooks?: unknown;
  linux: { uidMappings: { hostID: number }[]; gidMappings: { hostID: number }[] };
}

/**
 * The bundle of a cell of ours, with another root and command: the same namespaces, mounts, user map, capabilities and seccomp rules, so
 * that the runtime alone has the same work. `cell` is the bundle of a computer that is awake.
 */
export const copyBundle = async (options: {
  readonly cell: string;
  readonly path: string;
  readonly rootfs: string;
  readonly args: readonly string[];
}): Promise<string> => {
  const { path, rootfs } = options;
  const config = JSON.parse(await readFile(join(options.cell, "config.json"), "utf8")) as Config;
  // The runtime cannot make what is missing below a root that is not its user's.
  for (const name of ["proc", "sys", "dev", "work", ".holdfast"])
    await mkdir(join(rootfs, name), { recursive: true });
  await writeFile(join(rootfs, ".holdfast/agent"), "");
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "agent"), "");
  for (const mount of config.mounts) {
    if (!mount.source.startsWith(options.cell)) continue;
    mount.source = join(path, mount.source.slice(options.cell.length));
    if (mount.destination !== "/.holdfast/agent") await mkdir(mount.source, { recursive: true });
  }
  const [ids] = config.linux.uidMappings;
  if (ids) await chown(join(path, "volume/work"), ids.hostID, ids.hostID);
  config.process.args = options.args;
  // Connects the cell's own link; a peer has none.
  delete config.hooks;
  config.root.path = rootfs;
  await writeFile(join(path, "config.json"), JSON.stringify(config));
  return path;
};
