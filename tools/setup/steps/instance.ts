import { mkdir, readFile } from "node:fs/promises";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import {
  createHostRegistry,
  hostDirectory,
  placesOf,
  readSettings,
  writeSettings,
  type InstanceSettings,
  type Places,
} from "@holdfast/launcher";
import { systemClock, writeDurably } from "@holdfast/kit";
import { isFree } from "../free-address.ts";
import type { StepResult } from "../progress.ts";
import { meets, type ProjectsWishes, settleProjects } from "../projects.ts";

/** What the person asked for; undefined keeps what is there, or takes the default. */
export interface InstanceWishes {
  readonly instance: string;
  readonly data: string;
  readonly listen: readonly string[] | undefined;
  readonly allowHosts: readonly string[] | undefined;
  readonly poolBytes: number | undefined;
  readonly databaseUrl: string | undefined;
  readonly projects: ProjectsWishes;
}

export const hostRegistry = () =>
  createHostRegistry({
    directory: hostDirectory,
    random: (bound) => randomInt(bound),
    isFree: (port) => isFree(`127.0.0.1:${port}`),
  });

/** Enters the instance into the host's registry and writes its settings, without an image yet. */
export const ensureInstance = async (
  wishes: InstanceWishes,
  source: string,
  agent: string,
): Promise<StepResult<InstanceSettings>> => {
  const { entry, added } = await hostRegistry().claim(wishes.instance, wishes.data);
  await mkdir(wishes.data, { recursive: true, mode: 0o711 });
  const before = await readSettings(wishes.data);
  const places = placesOf(wishes.instance, wishes.data);
  const listen = [...(wishes.listen ?? before?.listen ?? [`127.0.0.1:${entry.port}`])];
  const allowHosts = [...(wishes.allowHosts ?? before?.allow_hosts ?? [])];
  const { settings: projects, caution } = await settleProjects(wishes.projects, before?.projects, {
    ports: entry,
    listen,
    allowHosts,
    nowMs: systemClock.now(),
  });
  await refuseTaken(wishes.instance, [...listen, ...projects.listen, projects.ask]);
  const settings: InstanceSettings = {
    version: 1,
    instance: wishes.instance,
    short_id: entry.short_id,
    data: wishes.data,
    uid_base: entry.uid_base,
    uid_count: entry.uid_count,
    listen,
    allow_hosts: allowHosts,
    pool_bytes: wishes.poolBytes ?? before?.pool_bytes ?? 0,
    image: before?.image ?? null,
    agent,
    source,
    database: wishes.databaseUrl === undefined ? (before?.database ?? "private") : "url",
    projects,
  };
  await keepDatabaseUrl(places, wishes.databaseUrl);
  const written = await writeSettings(settings);
  const detail =
    `${settings.instance} (${settings.short_id}), uids from ${settings.uid_base}, API ${listen.join(", ")}, ` +
    `projects *.${projects.domain} ${projects.listen.join(", ")}${caution === "" ? "" : `. ${caution}`}`;
  return { outcome: added ? "done" : written ? "changed" : "skipped", detail, value: settings };
};

/** Throws when another instance of the host listens there, or will: whichever started second would not come up. */
const refuseTaken = async (instance: string, wanted: readonly string[]): Promise<void> => {
  for (const [name, { data }] of Object.entries(await hostRegistry().list())) {
    if (name === instance) continue;
    const other = await readSettings(data).catch(() => undefined);
    if (!other) continue;
    const { listen, projects } = other;
    const theirs = [...listen, ...(projects ? [...projects.listen, projects.ask] : [])];
    const taken = wanted.find((address) => theirs.some((each) => meets(each, address)));
    if (taken !== undefined)
      throw new Error(`The instance ${name} listens on ${taken}. Choose another port for this one.`);
  }
};

const keepDatabaseUrl = async (places: Places, url: string | undefined): Promise<void> => {
  if (url === undefined) return;
  const before = await readFile(places.databaseUrl, "utf8").catch(() => "");
  if (before.trim() !== url) await writeDurably(join(places.databaseUrl), `${url}\n`);
};
