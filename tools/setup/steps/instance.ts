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
import { writeDurably } from "@holdfast/kit";
import type { StepResult } from "../progress.ts";

/** What the person asked for; undefined keeps what is there, or takes the default. */
export interface InstanceWishes {
  readonly instance: string;
  readonly data: string;
  readonly listen: readonly string[] | undefined;
  readonly allowHosts: readonly string[] | undefined;
  readonly poolBytes: number | undefined;
  readonly databaseUrl: string | undefined;
}

export const hostRegistry = () =>
  createHostRegistry({ directory: hostDirectory, random: (bound) => randomInt(bound) });

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
  const settings: InstanceSettings = {
    version: 1,
    instance: wishes.instance,
    short_id: entry.short_id,
    data: wishes.data,
    uid_base: entry.uid_base,
    uid_count: entry.uid_count,
    listen: [...(wishes.listen ?? before?.listen ?? [`127.0.0.1:${entry.port}`])],
    allow_hosts: [...(wishes.allowHosts ?? before?.allow_hosts ?? [])],
    pool_bytes: wishes.poolBytes ?? before?.pool_bytes ?? 0,
    image: before?.image ?? null,
    agent,
    source,
    database: wishes.databaseUrl === undefined ? (before?.database ?? "private") : "url",
  };
  await keepDatabaseUrl(places, wishes.databaseUrl);
  const written = await writeSettings(settings);
  const detail = `${settings.instance} (${settings.short_id}), uids from ${settings.uid_base}, ${settings.listen.join(", ")}`;
  return { outcome: added ? "done" : written ? "changed" : "skipped", detail, value: settings };
};

const keepDatabaseUrl = async (places: Places, url: string | undefined): Promise<void> => {
  if (url === undefined) return;
  const before = await readFile(places.databaseUrl, "utf8").catch(() => "");
  if (before.trim() !== url) await writeDurably(join(places.databaseUrl), `${url}\n`);
};
