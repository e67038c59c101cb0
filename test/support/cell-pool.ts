import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { command, type Places } from "@holdfast/launcher";
import { ensureAgent } from "../../tools/setup/steps/agent.ts";
import { ensureImage } from "../../tools/setup/steps/image.ts";
import { ensurePool } from "../../tools/setup/steps/pool.ts";

const root = new URL("../..", import.meta.url).pathname;

/** The directories, the pool, and what is installed on it. */
export const prepare = async (
  places: Places,
): Promise<{ readonly agent: string; readonly image: string }> => {
  const quiet = (): void => {};
  await mkdir(places.data, { recursive: true, mode: 0o711 });
  await mkdir(places.poolGuard, { recursive: true, mode: 0o700 });
  for (const directory of ["supervisor", "cells"])
    await mkdir(join(places.run, directory), { recursive: true, mode: 0o711 });
  const { value: agent } = await ensureAgent(root, quiet);
  await ensurePool(places, 3 * 1024 ** 3);
  const { value: image } = await ensureImage(root, places, quiet);
  return { agent, image };
};

/** Takes away what `prepare` has made so far. */
export const takeAway = async (places: Places): Promise<void> => {
  const mounted = await command(["findmnt", "--noheadings", "--output", "SOURCE", places.pool]).catch(
    () => "",
  );
  const device = mounted.trim();
  if (device !== "") await command(["umount", places.pool]);
  if (device.startsWith("/dev/loop")) await command(["losetup", "--detach", device]);
  await rm(places.data, { recursive: true, force: true });
  await rm(places.run, { recursive: true, force: true });
};
