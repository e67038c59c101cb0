import { chown, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeDurably } from "@holdfast/kit";
import { command, plainEnvironment } from "../host/command.ts";
import { removeTree } from "../host/remove.ts";
import type { UserIds } from "../host/users.ts";
import { findPostgresBinaries } from "./binaries.ts";

export const databaseName = "holdfast";
export const controlRole = "hf_control";
/** What root's health checks sign in as. It may do nothing. */
export const healthRole = "hf_health";

/** Everything the database needs before its first start, each `-single` run in one database. */
const sqlOfServer: readonly string[] = [
  `create role ${controlRole} login`,
  `create role ${healthRole} login connection limit 4`,
  `create database ${databaseName}`,
];
const sqlOfDatabase: readonly string[] = [
  "revoke all on schema public from public",
  `create schema control authorization ${controlRole}`,
  `grant connect, create, temporary on database ${databaseName} to ${controlRole}`,
  `alter role ${controlRole} in database ${databaseName} set search_path = control, public`,
];

/**
 * Makes a new cluster in `fresh`, replacing what is left there of an earlier try. No server is started: single-user mode makes the roles
 * and the database. The caller moves it to its place once it is whole.
 */
export const makeCluster = async (fresh: string, postgres: UserIds): Promise<void> => {
  const binaries = await findPostgresBinaries();
  await removeTree(fresh);
  await mkdir(fresh, { mode: 0o700 });
  await chown(fresh, postgres.uid, postgres.gid);
  const run = (argv: readonly string[], input?: string) =>
    command(
      [
        "setpriv",
        "--reuid",
        String(postgres.uid),
        "--regid",
        String(postgres.gid),
        "--clear-groups",
        ...argv,
      ],
      {
        environment: { ...plainEnvironment, HOME: "/nonexistent" },
        ...(input === undefined ? {} : { input }),
      },
    );
  await run([
    join(binaries.directory, "initdb"),
    "--pgdata",
    fresh,
    "--username",
    "postgres",
    "--encoding",
    "UTF8",
    "--locale",
    "C.UTF-8",
    "--data-checksums",
    "--auth",
    "reject",
    "--no-instructions",
  ]);
  const single = async (database: string, statements: readonly string[]): Promise<void> => {
    const argv = [
      join(binaries.directory, "postgres"),
      "--single",
      "-j",
      "-D",
      fresh,
      "-c",
      "exit_on_error=on",
      database,
    ];
    await run(argv, `${statements.join(";\n\n")};\n\n`);
  };
  await single("postgres", sqlOfServer);
  await single(databaseName, sqlOfDatabase);
  await writeAccessFiles(fresh, postgres);
};

/** The major version that made the cluster, or undefined where there is none. */
export const readMajor = async (directory: string): Promise<number | undefined> => {
  const text = await readFile(join(directory, "PG_VERSION"), "utf8").catch(() => "");
  return text === "" ? undefined : Number(text.trim());
};

/** Who may come in: operating system users by their kernel-proven name, over the Unix socket only. */
const accessFiles = {
  "pg_hba.conf": [
    `local ${databaseName} ${controlRole} peer map=holdfast`,
    `local postgres ${healthRole} peer map=holdfast`,
    "local all postgres peer map=holdfast",
    "",
  ].join("\n"),
  "pg_ident.conf": [
    `holdfast hf-control ${controlRole}`,
    `holdfast root ${healthRole}`,
    "holdfast hf-postgres postgres",
    "",
  ].join("\n"),
} as const;

/** Brings who may sign in up to date in a cluster that was made before. */
export const writeAccessFiles = async (directory: string, postgres: UserIds): Promise<void> => {
  for (const [name, content] of Object.entries(accessFiles)) {
    const path = join(directory, name);
    if ((await readFile(path, "utf8").catch(() => "")) === content) continue;
    await writeDurably(path, content, 0o600, { owner: postgres });
  }
};
