import { after, type TestContext } from "node:test";
import {
  type Clock,
  createCrashPoint,
  createIds,
  createLogger,
  type Logger,
  systemClock,
} from "@holdfast/kit";
import { type App, startApp } from "../../packages/control/src/app.ts";
import type { Module } from "../../packages/control/src/domain/module.ts";
import { createModules, type Shared } from "../../packages/control/src/modules.ts";
import { createDoors } from "../../packages/control/src/serve.ts";
import { type TestPostgres, usePostgres } from "./postgres.ts";

export interface TestControl {
  readonly app: App;
  readonly url: string;
  readonly port: number;
  readonly databaseUrl: string;
  /** Log lines of this control, as objects. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Stops and starts it on the same database, as after a restart. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestControlOptions {
  readonly modules?: (shared: Shared) => readonly Module[];
  readonly clock?: Clock;
  readonly allowHosts?: readonly string[];
  readonly databaseUrl?: string;
  /** Of a supervisor that runs; without it there is none. */
  readonly supervisor?: { readonly instance: string; readonly socket: string };
  /** Blank computers that are kept started. */
  readonly warm?: number;
}

/** Control's whole app with its HTTP door on a port of its own, on a database of its own; everything is taken down after the test. */
export const startControl = async (
  context: Pick<TestContext, "after">,
  postgres: TestPostgres | Promise<TestPostgres>,
  options: TestControlOptions = {},
): Promise<TestControl> => {
  const database = options.databaseUrl
    ? { url: options.databaseUrl, drop: () => Promise.resolve() }
    : await (await postgres).createDatabase();
  const log: Readonly<Record<string, unknown>>[] = [];
  const clock = options.clock ?? systemClock;
  const ids = createIds(clock);
  const nodeId = ids("node");
  const logger = createLogger({
    program: "control",
    level: "debug",
    now: clock.now,
    write: (line) => void log.push(JSON.parse(line) as Readonly<Record<string, unknown>>),
  });
  const start = () => startOnce(database.url, nodeId, clock, logger, options);
  let running = await start();
  const stop = async (): Promise<void> => {
    running.app.dispatch.stop();
    await running.doors.close();
    await running.app.stop();
  };
  let stopped = false;
  context.after(async () => {
    if (!stopped) await stop();
    await database.drop();
  });
  return {
    get app() {
      return running.app;
    },
    get url() {
      return `http://127.0.0.1:${running.port}`;
    },
    get port() {
      return running.port;
    },
    databaseUrl: database.url,
    log,
    restart: async () => {
      await stop();
      running = await start();
    },
    stop: async () => {
      stopped = true;
      await stop();
    },
  };
};

const startOnce = async (
  databaseUrl: string,
  nodeId: string,
  clock: Clock,
  logger: Logger,
  options: TestControlOptions,
) => {
  const app = await startApp(
    {
      databaseUrl,
      instance: options.supervisor?.instance ?? "test",
      nodeId,
      address: new URL("http://127.0.0.1:7300"),
      projectsAddress: new URL("http://localhost:7301"),
      clock,
      ids: createIds(clock),
      logger,
      crashPoint: createCrashPoint({}),
      modules: options.modules ?? createModules,
      supervisorSocket: options.supervisor?.socket ?? "/nonexistent/supervisor.sock",
      warm: options.warm ?? 0,
    },
    new AbortController().signal,
  );
  const doors = createDoors({
    app,
    clock,
    logger,
    address: new URL("http://127.0.0.1:7300"),
    projectsAddress: new URL("http://localhost:7301"),
    allowHosts: options.allowHosts ?? [],
    version: "0.0.0-test",
  });
  const port = await doors.listen({ host: "127.0.0.1", port: 0 });
  return { app, doors, port };
};

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** One JSON request, without any client of ours. */
export const call = async (
  url: string,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === "" ? {} : JSON.parse(text)) as Readonly<Record<string, unknown>>,
  };
};

export const passphrase = "correct horse battery staple";

/** Signs the first owner in with a fresh one-time code. Answers the session's token. */
export const enrolOwner = async (control: TestControl): Promise<string> => {
  const { code } = await control.app.host.loginCode();
  const reply = await call(control.url, undefined, "POST", "/v1/sessions/enrol", {
    code,
    passphrase,
    public_key: Buffer.alloc(32, 7).toString("base64url"),
    sealed_key: Buffer.from("sealed by the client").toString("base64url"),
  });
  if (reply.status !== 200) throw new Error(`enrol: ${reply.status} ${JSON.stringify(reply.body)}`);
  return String(reply.body["token"]);
};

/** Makes a key through the API, as the owner does. */
export const createKey = async (
  control: TestControl,
  owner: string,
  name: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly id: string; readonly secret: string; readonly assistant: string }> => {
  const reply = await call(control.url, owner, "POST", "/v1/keys", { name, ...fields });
  if (reply.status !== 201) throw new Error(`key.create: ${reply.status} ${JSON.stringify(reply.body)}`);
  const key = reply.body["key"] as { readonly id: string; readonly assistant: string };
  return { id: key.id, assistant: key.assistant, secret: String(reply.body["secret"]) };
};

/** One control with its first owner for all tests of a file. Await it at the top of the file. */
export const useControl = async (
  options: TestControlOptions = {},
): Promise<{ readonly control: TestControl; readonly owner: string }> => {
  const cleanups: (() => unknown)[] = [];
  // Before Postgres registers its own: hooks run in this order.
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  const context = { after: (work: unknown) => void cleanups.push(work as () => unknown) };
  const control = await startControl(context, usePostgres(), options);
  return { control, owner: await enrolOwner(control) };
};

/** A control with its first owner and an assistant's key, as most tests begin. */
export const startWithKey = async (
  context: Pick<TestContext, "after">,
  postgres: TestPostgres | Promise<TestPostgres>,
  options: TestControlOptions & { readonly key?: Readonly<Record<string, unknown>> } = {},
) => {
  const control = await startControl(context, postgres, options);
  const owner = await enrolOwner(control);
  return { control, owner, key: await createKey(control, owner, "claude", options.key) };
};
