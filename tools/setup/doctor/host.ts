import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import {
  findMount,
  findPostgresBinaries,
  lookUpUser,
  placesOf,
  tryCommand,
  userNames,
  type InstanceSettings,
} from "@holdfast/launcher";
import { prove, type Proof } from "./proof.ts";

const gibibyte = 1024 ** 3;
const leastFreeBytes = gibibyte;
const again = "Run `holdfast up` again: it makes what is missing.";

/** What set-up made on the host, looked at and tried. */
export const proveHost = (settings: InstanceSettings): Promise<readonly Proof[]> => {
  const places = placesOf(settings.instance, settings.data);
  return Promise.all([
    prove("node", "Run `npm ci` in the clone.", async () => {
      const node = join(places.tree, "node_modules/node/bin/node");
      const { stdout } = await tryCommand([node, "--version"]);
      if (stdout.trim() !== process.version)
        throw new Error(`${node} is ${stdout.trim() || "not there"}, not ${process.version}`);
      return stdout.trim();
    }),
    prove("users", again, async () => {
      for (const name of Object.values(userNames)) await lookUpUser(name);
      return Object.values(userNames).join(", ");
    }),
    prove("disk", "Free space on this file system: logs and control's files are on it too.", async () => {
      const { bavail, bsize } = await statfs(settings.data);
      const free = `${((bavail * bsize) / gibibyte).toFixed(1)} GiB free at ${settings.data}`;
      if (bavail * bsize < leastFreeBytes) throw new Error(free);
      return free;
    }),
    prove("program tree", again, async () => {
      const mount = await findMount(places.tree);
      if (!mount) throw new Error(`nothing is mounted at ${places.tree}`);
      if (!mount.options.includes("ro")) throw new Error(`${places.tree} is writable`);
      const { uid, gid } = await lookUpUser(userNames.control);
      const argv = ["setpriv", "--reuid", String(uid), "--regid", String(gid), "--clear-groups"];
      const unreadable = await tryCommand([
        ...argv,
        "find",
        join(places.tree, "packages"),
        "-not",
        "-readable",
        "-print",
        "-quit",
      ]);
      if (unreadable.status !== 0 || unreadable.stdout !== "") {
        throw new Error(
          `${userNames.control} cannot read ${unreadable.stdout.trim() || unreadable.stderr.trim()}`,
        );
      }
      return `${settings.source}, read-only`;
    }),
    prove("agent", again, async () => {
      const { status } = await tryCommand([settings.agent]);
      if (status !== 64) throw new Error(`${settings.agent} does not run (status ${status})`);
      return `${((await stat(settings.agent)).size / 1e6).toFixed(1)} MB, runs`;
    }),
    prove("pool", again, async () => {
      const mount = await findMount(places.pool);
      if (mount?.type !== "btrfs") throw new Error(`no btrfs is mounted at ${places.pool}`);
      for (const option of ["nosuid", "nodev", "rw"]) {
        if (!mount.options.includes(option)) throw new Error(`${places.pool} is mounted without ${option}`);
      }
      const guard = await stat(places.poolGuard);
      if (guard.uid !== 0 || (guard.mode & 0o077) !== 0)
        throw new Error(`${places.poolGuard} is open to others than root`);
      const { blocks, bavail, bsize } = await statfs(places.pool);
      return `${((bavail * bsize) / gibibyte).toFixed(1)} of ${((blocks * bsize) / gibibyte).toFixed(0)} GiB free, nosuid, nodev`;
    }),
    prove("base image", again, async () => {
      const path = join(places.pool, "images", settings.image ?? "none");
      const { status, stdout } = await tryCommand(["btrfs", "property", "get", "-t", "subvol", path, "ro"]);
      if (status !== 0 || stdout.trim() !== "ro=true")
        throw new Error(`there is no read-only subvolume ${path}`);
      return `${settings.image?.slice(0, 12)}, read-only`;
    }),
    ...(settings.database === "private"
      ? [
          prove(
            "postgres",
            "Run `holdfast up`: it installs the server, and makes the database's file larger where the host has room.",
            async () => {
              const { directory, major } = await findPostgresBinaries();
              const { blocks, bavail, bsize } = await statfs(places.postgres);
              if (bavail < blocks / 10) {
                throw new Error(
                  `${((bavail * bsize) / 1024 ** 2).toFixed(0)} MiB are left at ${places.postgres}`,
                );
              }
              return `${major} in ${directory}`;
            },
          ),
        ]
      : []),
  ]);
};
