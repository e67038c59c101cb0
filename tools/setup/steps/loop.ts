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

/** Undoes a mount and its loop device; the file with everything in it stays. Whether it was mounted. */
export const releaseMount = async (path: string): Promise<boolean> => {
  const mount = await findMount(path);
  if (!mount) return false;
  await command(["umount", path]);
  if (mount.source.startsWith("/dev/loop")) await tryCommand(["losetup", "--detach", mount.source]);
  return true;
};
