import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { CrashPoint, Logger } from "@holdfast/kit";
import pg from "pg";
import { asStoreError } from "./errors.ts";
import { clientConfig } from "./open.ts";

const migrationsDirectory = new URL("./migrations/", import.meta.url);
/** Any number of ours, the same in every control: only one migrates at a time. */
const lockKey = 724_041_931;

/**
 * Brings the schema up to date: each file of `migrations/` in its own transaction, in the order of names, under a lock. May be killed
 * anywhere and started again. Throws when an applied file has changed or is gone, for then nobody knows what the schema is.
 */
export const migrate = async (options: {
  readonly url: string;
  readonly logger: Logger;
  readonly now: () => number;
  readonly crashPoint: CrashPoint;
}): Promise<void> => {
  const files = await readMigrations();
  const client = new pg.Client(clientConfig(options.url));
  // A broken connection fails the statement under way, which is told below.
  client.on("error", () => {});
  try {
    await client.connect();
    for (;;) {
      await client.query("begin");
      await client.query("select pg_advisory_xact_lock($1)", [lockKey]);
      await client.query(
        "create table if not exists migrations (name text primary key, digest text not null, applied_at_ms bigint not null)",
      );
      const { rows } = await client.query<{ name: string; digest: string }>(
        "select name, digest from migrations",
      );
      const next = nextMigration(files, new Map(rows.map((row) => [row.name, row.digest])));
      if (next) {
        await client.query(next.text);
        await client.query("insert into migrations (name, digest, applied_at_ms) values ($1, $2, $3)", [
          next.name,
          next.digest,
          options.now(),
        ]);
        options.crashPoint("migration-before-commit");
      }
      await client.query("commit");
      if (!next) return;
      options.crashPoint("migration-committed");
      options.logger.info("migration applied", { name: next.name });
    }
  } catch (error) {
    throw asStoreError(error);
  } finally {
    await client.end();
  }
};

interface Migration {
  readonly name: string;
  readonly digest: string;
  readonly text: string;
}

const readMigrations = async (): Promise<readonly Migration[]> => {
  const names = (await readdir(migrationsDirectory)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, migrationsDirectory), "utf8");
      return { name, text, digest: createHash("sha256").update(text).digest("hex") };
    }),
  );
};

const nextMigration = (
  files: readonly Migration[],
  applied: ReadonlyMap<string, string>,
): Migration | undefined => {
  for (const name of applied.keys())
    if (!files.some((file) => file.name === name))
      throw new Error(
        `migration ${name} was applied and is not here: this is an older Holdfast; install the newer one`,
      );
  for (const file of files) {
    const digest = applied.get(file.name);
    if (digest === undefined) return file;
    if (digest !== file.digest) throw new Error(`migration ${file.name} was changed after it was applied`);
  }
  return undefined;
};
