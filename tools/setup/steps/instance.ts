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
import { meets, type ProjectsSurroundings, type ProjectsWishes, settleProjects } from "../projects.ts";

/** What the person asked for; undefined keeps what is there, or takes the default. */
export interface InstanceWishes {
  readonly instance: string;
  readonly data: string;
  readonly listen: readonly string[] | undefined;
  readonly allowHosts: readonly string[] | undefined;
  readonly poolBytes: number | undefined;
  readonly databaseUrl: string | undefined;
  readonly projects: ProjectsWishes;
  /** `default`: as many as the host has room for. */
  readonly warm: number | "default" | undefined;
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
  const before = await readSettings(wishes.data);
  const settled = await settleListeners(wishes, before, entry).catch(async (error: unknown) => {
    // What cannot be is no instance yet.
    if (added) await hostRegistry().release(wishes.instance);
    throw error;
  });
  const { listen, allowHosts, projects, caution } = settled;
  await mkdir(wishes.data, { recursive: true, mode: 0o711 });
  const places = placesOf(wishes.instance, wishes.data);
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
    ...settleWarm(wishes.warm, before?.warm),
  };
  await keepDatabaseUrl(places, wishes.databaseUrl);
  const written = await writeSettings(settings);
  const detail =
    `${settings.instance} (${settings.short_id}), uids from ${settings.uid_base}, API ${listen.join(", ")}, ` +
    `projects *.${projects.domain} ${projects.listen.join(", ")}${caution === "" ? "" : `. ${caution}`}`;
  return { outcome: added ? "done" : written ? "changed" : "skipped", detail, value: settings };
};

/** What the settings say; without a number as many as the host has room for. */
export const settleWarm = (
  wish: InstanceWishes["warm"],
  before: number | undefined,
): { readonly warm?: number } => {
  const warm = wish === "default" ? undefined : (wish ?? before);
  return warm === undefined ? {} : { warm };
};

/** Where the instance listens and under which names. Throws what `settleProjects` does, and for what another instance has. */
const settleListeners = async (
  wishes: InstanceWishes,
  before: InstanceSettings | undefined,
  ports: ProjectsSurroundings["ports"],
) => {
  const listen = [...(wishes.listen ?? before?.listen ?? [`127.0.0.1:${ports.port}`])];
  const allowHosts = [...(wishes.allowHosts ?? before?.allow_hosts ?? [])];
  const nowMs = systemClock.now();
  const around = { ports, listen, allowHosts, nowMs };
  const { settings: projects, caution } = await settleProjects(wishes.projects, before?.projects, around);
  const asked = wishes.listen ?? wishes.projects.listen ?? wishes.projects.ask;
  if (!before || asked) await refuseTaken(wishes.instance, [...listen, ...projects.listen, projects.ask]);
  return { listen, allowHosts, projects, caution };
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
