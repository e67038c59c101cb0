import { createHash } from "node:crypto";
import { connect } from "node:net";
import { join } from "node:path";
import { plainEnvironment } from "../host/command.ts";
import type { UserIds } from "../host/users.ts";
import type { Places } from "../instance/places.ts";
import type { ProgramPlan } from "../programs/plan.ts";
import { findPostgresBinaries } from "./binaries.ts";
import { controlRole, databaseName, healthRole, readMajor } from "./cluster.ts";
import { clearOrphans } from "./orphans.ts";

/** Settings of the private cluster. Durability is not among the things that are tuned. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "",
  fsync: "on",
  full_page_writes: "on",
  // Before it recovers it makes the whole data directory durable: its own file system at once, where a call for each of its thousand
  // files took 0.3 to 0.5 s. The kernels that cells need report errors of both.
  recovery_init_sync_method: "syncfs",
  synchronous_commit: "on",
  // As durable as fdatasync, in one call instead of two: with the loop device below it that is half a millisecond of a commit. With
  // `wal_level=minimal` it opens the WAL past the page cache (O_DIRECT), which the database's own file system takes.
  wal_sync_method: "open_datasync",
  max_connections: "64",
  shared_buffers: "64MB",
  // The working set of one host is small; bounded WAL keeps the data directory within its reserve.
  max_wal_size: "256MB",
  min_wal_size: "64MB",
  max_wal_senders: "0",
  wal_level: "minimal",
  jit: "off",
  log_destination: "stderr",
  logging_collector: "off",
  log_line_prefix: "%m [%p] %u ",
  log_min_messages: "warning",
  // A client that vanished must not hold locks.
  tcp_keepalives_idle: "60",
  idle_in_transaction_session_timeout: "60s",
};

/** Plans the private Postgres: Unix socket only, its own user. */
export const planPostgres = async (places: Places, postgres: UserIds): Promise<ProgramPlan> => {
  const binaries = await findPostgresBinaries(await readMajor(places.postgres));
  const argv = [
    join(binaries.directory, "postgres"),
    "-D",
    places.postgres,
    ...Object.entries({ ...settings, unix_socket_directories: places.postgresSocket }).flatMap(
      ([name, value]) => ["-c", `${name}=${value}`],
    ),
  ];
  const environment = { ...plainEnvironment };
  return {
    name: "postgres",
    argv,
    user: postgres,
    sockets: [],
    environment,
    label: createHash("sha256")
      .update(JSON.stringify([argv, postgres]))
      .digest("hex"),
    beforeStart: () => clearOrphans(places.postgres, postgres.uid),
    health: () => probe(join(places.postgresSocket, ".s.PGSQL.5432")),
    // Fast shutdown: sessions are ended, nothing is lost.
    stopSignal: "SIGINT",
    killSignal: "SIGQUIT",
    stopMs: 20_000,
  };
};

/** Peer authentication over the private socket. */
export const privateDatabaseUrl = (places: Places): string =>
  `postgres:///${databaseName}?host=${encodeURIComponent(places.postgresSocket)}&user=${controlRole}`;

/** Protocol 3.0. */
const protocolVersion = 196_608;

/**
 * Whether the server takes sessions: as root, mapped to a role without rights, up to the end of authentication. While it starts or
 * recovers it answers with an error instead.
 */
const probe = (path: string): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const socket = connect({ path });
    const parameters = Buffer.from(`user\0${healthRole}\0database\0postgres\0\0`);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(8 + parameters.length, 0);
    head.writeUInt32BE(protocolVersion, 4);
    socket.setTimeout(2000, () => socket.destroy(new Error("Postgres did not answer within 2 s")));
    socket.once("connect", () => socket.write(Buffer.concat([head, parameters])));
    socket.once("data", (answer: Buffer) => {
      const authenticated = answer.toString("latin1", 0, 1) === "R";
      socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
      resolve(authenticated ? undefined : errorMessage(answer));
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("Postgres closed the connection")));
  });

/** Field M of an ErrorResponse. */
const errorMessage = (answer: Buffer): string =>
  /\0M([^\0]*)\0/.exec(answer.toString("utf8"))?.[1] ?? "it refuses sessions";
