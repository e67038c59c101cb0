import { after, before } from "node:test";
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { createCrashPoint, createLogger } from "@holdfast/kit";
import { migrate } from "../../packages/control/src/store/migrate.ts";
import { temporaryDirectory } from "./temporary.ts";

const run = promisify(execFile);

export interface TestPostgres {
  /** Connection string of a database. */
  url(database: string): string;
  /** A fresh database with the schema of `migrations/`; dropped by `drop`. */
  createDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }>;
  /** The same without any schema. */
  createEmptyDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }>;
  /** `kill -9` of the postmaster, then a start on what it left. Only of a cluster of one's `own`. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

const template = "holdfast_template";

/** The Postgres of a test file, there before its first test and stopped after its last. Call at the top of the file. */
export const usePostgres = (): Promise<TestPostgres> => {
  const started = startPostgres();
  // Whoever waits for it is told; here it must not end the process.
  started.catch(() => {});
  before(() => started.then(() => undefined));
  after(async () => (await started).stop());
  return started;
};

/**
 * A private cluster with `fsync` on, under an unprivileged user, in a temporary directory. It dies with the process that started it. When
 * the runner has started one for the whole run (`HOLDFAST_TEST_POSTGRES` is its socket directory) that one is used.
 */
export const startPostgres = async (options: { readonly own?: boolean } = {}): Promise<TestPostgres> => {
  const shared = options.own ? undefined : process.env["HOLDFAST_TEST_POSTGRES"];
  const cluster = shared ? { socket: shared } : await startCluster();
  const url = (database: string): string => `postgres:///${database}?host=${cluster.socket}&user=postgres`;
  await prepareTemplate(url);
  const create = async (from: string) => {
    const name = `test_${randomBytes(6).toString("hex")}`;
    await admin(url("postgres"), `create database ${name} template ${from} strategy wal_log`);
    return {
      url: url(name),
      drop: () => admin(url("postgres"), `drop database if exists ${name} with (force)`),
    };
  };
  return {
    url,
    createDatabase: () => create(template),
    createEmptyDatabase: () => create("template0"),
    killAndRestart: async () => {
      if (!("kill" in cluster)) throw new Error("the cluster is shared: ask for one of your own");
      await cluster.kill();
      await cluster.start();
    },
    stop: async () => {
      if ("stop" in cluster) await cluster.stop();
    },
  };
};

const prepareTemplate = async (url: (database: string) => string): Promise<void> => {
  const client = new pg.Client({ connectionString: url("postgres") });
  client.on("error", () => {});
  await client.connect();
  try {
    // Several test processes may share the cluster: one makes the template, the others wait.
    await client.query("select pg_advisory_lock(1)");
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [template]);
    if (rowCount !== 0) return;
    const building = `${template}_new`;
    await client.query(`drop database if exists ${building}`);
    await client.query(`create database ${building}`);
    const logger = createLogger({ program: "test", level: "warn", now: Date.now });
    await migrate({ url: url(building), logger, now: Date.now, crashPoint: createCrashPoint({}) });
    await client.query(`alter database ${building} rename to ${template}`);
  } finally {
    await client.end();
  }
};

const admin = async (url: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
};

interface Cluster {
  readonly socket: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Also for the runner: starts the one cluster of a run. */
export const startCluster = async (): Promise<Cluster> => {
  const bin = await binaries();
  let child: ReturnType<typeof spawn> | undefined;
  const { path: directory, remove } = temporaryDirectory("postgres", () => void child?.kill("SIGKILL"));
  const user = await unprivilegedUser();
  if (user) await chown(directory, user.uid, user.gid);
  await chmod(directory, 0o700);
  const asUser = user
    ? ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"]
    : ["setpriv"];
  const [command = "setpriv", ...prefix] = asUser;
  const data = join(directory, "data");
  await run(command, [
    ...prefix,
    join(bin, "initdb"),
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C.UTF-8",
  ]);

  const launch = (): ReturnType<typeof spawn> => {
    const options = [
      "listen_addresses=",
      `unix_socket_directories=${directory}`,
      "max_connections=200",
      "log_min_messages=fatal",
    ];
    const started = spawn(
      command,
      [
        ...prefix,
        "--pdeathsig=QUIT",
        join(bin, "postgres"),
        "-D",
        data,
        ...options.flatMap((option) => ["-c", option]),
      ],
      { stdio: "ignore", env: { PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8" } },
    );
    started.unref();
    return started;
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || hasEnded(child)) return;
    const ended = new Promise((resolve) => child?.once("exit", resolve));
    child.ref();
    child.kill(signal);
    await ended;
  };
  const start = async (): Promise<void> => {
    for (const deadline = Date.now() + 30_000; ; ) {
      child = launch();
      if (await becomesReady(directory, child)) return;
      // After a `kill -9` it refuses to start while backends of the one before still hold its memory.
      if (Date.now() > deadline) throw new Error("the test cluster did not start");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await start();
  return {
    socket: directory,
    start,
    kill: () => end("SIGKILL"),
    stop: async () => {
      await end("SIGINT");
      remove();
    },
  };
};

const hasEnded = (child: ReturnType<typeof spawn>): boolean =>
  child.exitCode !== null || child.signalCode !== null;

/** False when it ended instead. */
const becomesReady = async (directory: string, child: ReturnType<typeof spawn>): Promise<boolean> => {
  for (;;) {
    if (hasEnded(child)) return false;
    const ready = await admin(`postgres:///postgres?host=${directory}&user=postgres`, "select 1").then(
      () => true,
      () => false,
    );
    if (ready) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

const binaries = async (): Promise<string> => {
  const root = "/usr/lib/postgresql";
  const versions = (await readdir(root)).map(Number).filter(Number.isInteger);
  return join(root, String(Math.max(...versions)), "bin");
};

/** Postgres refuses root. */
const unprivilegedUser = async (): Promise<{ uid: number; gid: number } | undefined> => {
  if (process.getuid?.() !== 0) return undefined;
  const name = "hf-postgres";
  const ask = async (flag: string) => Number((await run("id", [flag, name])).stdout);
  try {
    return { uid: await ask("-u"), gid: await ask("-g") };
  } catch {
    await run("useradd", ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]);
    return { uid: await ask("-u"), gid: await ask("-g") };
  }
};
