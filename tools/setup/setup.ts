import { placesOf, writeSettings, type InstanceSettings } from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import type { Progress } from "./progress.ts";
import { ensureAgent, needsCompiler } from "./steps/agent.ts";
import { ensureCertificate } from "./steps/certificate.ts";
import { pruneCache } from "./steps/cache.ts";
import { checkCgroups } from "./steps/cgroups.ts";
import { ensureDatabase } from "./steps/database.ts";
import { ensureDirectories, ensureTree } from "./steps/directories.ts";
import { ensureImage } from "./steps/image.ts";
import { ensureInstance, type InstanceWishes } from "./steps/instance.ts";
import { ensurePackages } from "./steps/packages.ts";
import { ensurePool } from "./steps/pool.ts";
import { ensureUsers } from "./steps/users.ts";

/**
 * Brings the host to where the programs of one instance can be started. Each step looks first and does only what is missing, so it is
 * run before every start: after a reboot it attaches and mounts again, after an upgrade it builds again.
 */
export const setUp = async (
  wishes: InstanceWishes,
  source: string,
  progress: Progress,
): Promise<InstanceSettings> => {
  await progress.step("packages", async (note) =>
    ensurePackages(
      { database: wishes.databaseUrl === undefined, agentCompiler: await needsCompiler(source) },
      note,
    ),
  );
  await progress.step("users", () => ensureUsers());
  await progress.step("cgroups", () => checkCgroups());
  const agent = await progress.step("agent", (note) => ensureAgent(source, note));
  const settings = await progress.step("instance", () => ensureInstance(wishes, source, agent));
  const places = placesOf(settings.instance, settings.data);
  await progress.step("directories", () => ensureDirectories(settings, places));
  const { projects } = settings;
  if (projects?.certificate) await progress.step("certificate", () => ensureCertificate(projects, places));
  await progress.step("program tree", () => ensureTree(source, places));
  await progress.step("pool", () => ensurePool(places, settings.pool_bytes || undefined));
  const image = await progress.step("base image", (note) => ensureImage(source, places, note));
  await progress.step("database", () => ensureDatabase(settings, places));
  const complete = { ...settings, image };
  await writeSettings(complete);
  await progress.step("cache", () => pruneCache(systemClock.now()));
  return complete;
};
