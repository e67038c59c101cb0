import { command, findMount, tryCommand } from "@holdfast/launcher";

/** The loop device of the file, attached when it is not, as after a reboot. Direct, so that a flush reaches the disk and pages are kept once. */
export const attachLoop = async (file: string): Promise<string> => {
  const attached = await command(["losetup", "--associated", file, "--output", "NAME", "--noheadings"]);
  const [device = ""] = attached.trim().split("\n");
  if (device !== "") return device.trim();
  const direct = await tryCommand(["losetup", "--find", "--show", "--direct-io=on", file]);
  if (direct.status === 0) return direct.stdout.trim();
  return (await command(["losetup", "--find", "--show", file])).trim();
};

/**
 * Undoes the mount at `path` and lets go of the loop devices of `file`, also of one that was attached and never mounted; the file with
 * everything in it stays. Whether there was anything to undo.
 */
export const releaseMount = async (path: string, file: string): Promise<boolean> => {
  const mount = await findMount(path);
  if (mount) await command(["umount", path]);
  const listed = await tryCommand(["losetup", "--associated", file, "--output", "NAME", "--noheadings"]);
  const devices = listed.stdout.split("\n").map((line) => line.trim());
  for (const device of devices.filter((name) => name !== ""))
    await tryCommand(["losetup", "--detach", device]);
  return mount !== undefined || devices.some((name) => name !== "");
};
