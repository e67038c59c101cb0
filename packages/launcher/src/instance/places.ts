import { join } from "node:path";
import { runDirectory } from "@holdfast/contract";

/** Everything host-wide stands here and under `/var/cache/holdfast`; the rest belongs to one instance. */
export const hostDirectory = "/var/lib/holdfast-host";
export const cacheDirectory = "/var/cache/holdfast";

export const defaultDataDirectory = (instance: string): string =>
  instance === "default" ? "/var/lib/holdfast" : `/var/lib/holdfast-${instance}`;

/** Directories and files of one instance. */
export interface Places {
  readonly data: string;
  readonly log: string;
  readonly control: string;
  readonly postgres: string;
  /** The preallocated file that is mounted at `postgres`: a full host does not stop the database. */
  readonly databaseFile: string;
  readonly databaseUrl: string;
  readonly assistantKey: string;
  readonly poolFile: string;
  /** Root's alone, so that ids on disk, which are 0-based, are nobody's. */
  readonly poolGuard: string;
  readonly pool: string;
  readonly run: string;
  readonly tree: string;
  /** Compiled modules of the programs; made and written by root alone. */
  readonly compiled: string;
  readonly records: string;
  readonly cells: string;
  readonly postgresSocket: string;
  /** Certificate and key as gateway reads them: one file, so that they always fit; in memory only. */
  readonly certificate: string;
}

export const placesOf = (instance: string, data: string): Places => {
  const run = runDirectory(instance);
  return {
    data,
    log: join(data, "log"),
    control: join(data, "control"),
    postgres: join(data, "postgres"),
    databaseFile: join(data, "database.img"),
    databaseUrl: join(data, "database-url"),
    assistantKey: join(data, "assistant-key"),
    poolFile: join(data, "pool.img"),
    poolGuard: join(data, "pool"),
    pool: join(data, "pool", "fs"),
    run,
    tree: join(run, "tree"),
    compiled: join(data, "compiled"),
    records: join(run, "launcher"),
    cells: join(run, "cells"),
    postgresSocket: join(run, "postgres"),
    certificate: join(run, "certificate", "pair.pem"),
  };
};
