import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type ControlGatewayMethods, controlGatewayMethods, type Right } from "@holdfast/contract";
import { createIds, createLogger, createRpcClient, type RpcClient, systemClock } from "@holdfast/kit";
import pg from "pg";
import { createGatewayDoor } from "../../packages/control/src/doors/gateway/server.ts";
import { call, passphrase, startWithKey, type TestControl, type TestControlOptions } from "./control.ts";
import type { TestPostgres } from "./postgres.ts";
import { temporaryDirectory } from "./temporary.ts";

type Key = Awaited<ReturnType<typeof startWithKey>>["key"];

export interface Visiting {
  readonly control: TestControl;
  /** An owner's session. */
  readonly owner: string;
  readonly key: Key;
  /** As gateway asks, over a socket. */
  readonly gateway: RpcClient<ControlGatewayMethods>;
  /** That socket. */
  readonly socketPath: string;
  /** A project that is written straight into the database: nothing of it runs. Of the key's assistant, unless it is another's. */
  project(slug: string, principal?: string): Promise<string>;
  sql(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  signIn(): Promise<string>;
  /** The token of a ticket that an owner's session made. */
  ticket(session: string, project: string): Promise<string>;
  share(project: string, fields?: Readonly<Record<string, unknown>>): Promise<{ id: string; token: string }>;
  trade(kind: "ticket" | "share", project: string, token: string): Promise<string | null>;
  right(kind: "cookie" | "header", project: string, token: string): Promise<Right | null>;
}

/** Control with an owner and an assistant, and gateway's door on a socket of the test's own. */
export const startVisiting = async (
  context: Pick<TestContext, "after">,
  postgres: TestPostgres | Promise<TestPostgres>,
  options: TestControlOptions = {},
): Promise<Visiting> => {
  const { control, owner, key } = await startWithKey(context, postgres, options);
  const { path: directory, remove } = temporaryDirectory("gateway");
  const path = join(directory, "gateway.sock");
  const door = createGatewayDoor({
    logger: createLogger({ program: "control", level: "error", now: Date.now, write: () => undefined }),
    visits: () => control.app.visits,
  });
  await door.listen({ path });
  const gateway = createRpcClient({ path, methods: controlGatewayMethods, clock: systemClock });
  const database = new pg.Pool({ connectionString: control.databaseUrl, max: 16 });
  database.on("error", () => {});
  context.after(async () => {
    gateway.close();
    await door.close();
    await database.end();
    remove();
  });
  const sql: Visiting["sql"] = async (text, values = []) =>
    (await database.query<Record<string, unknown>>(text, [...values])).rows;
  const asOwner = async (session: string | undefined, method: string, at: string, body?: unknown) => {
    const reply = await call(control.url, session, method, at, body);
    assert.ok(reply.status < 300, `${method} ${at}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const tokenOf = (url: unknown): string => new URL(String(url)).searchParams.get("t") ?? "";
  return {
    control,
    owner,
    key,
    gateway,
    socketPath: path,
    sql,
    project: (slug, principal = key.assistant) => insertProject(sql, slug, principal),
    signIn: async () =>
      String((await asOwner(undefined, "POST", "/v1/sessions", { name: "owner", passphrase }))["token"]),
    ticket: async (session, project) =>
      tokenOf((await asOwner(session, "POST", `/v1/projects/${project}/open`, {}))["url"]),
    share: async (project, fields = {}) => {
      const made = await asOwner(owner, "POST", `/v1/projects/${project}/shares`, fields);
      return { id: (made["share"] as { id: string }).id, token: tokenOf(made["url"]) };
    },
    trade: async (kind, project, token) =>
      (await gateway.call("right.trade", { project_id: project, kind, token })).session?.token ?? null,
    right: async (kind, project, token) =>
      (await gateway.call("right.find", { project_id: project, kind, token })).right,
  };
};

/** In an account and on a node that are there already. It has a web service that is wanted, as the rows say. */
export const insertProject = async (
  sql: Visiting["sql"],
  slug: string,
  principal: string,
): Promise<string> => {
  const ids = createIds(systemClock);
  const [computer, project] = [ids("computer"), ids("project")];
  await sql(
    `insert into computers (id, account_id, node_id, principal_id, name, description, size, environment, state, desired_state,
       created_at_ms, updated_at_ms)
     select $1, accounts.id, nodes.id, $2, $3, '', 'small', '{}', 'stopped', 'stopped', 0, 0 from accounts, nodes limit 1`,
    [computer, principal, slug],
  );
  await sql(
    `insert into projects (id, account_id, computer_id, principal_id, operation_id, name, slug, description, template, definition,
       deployed_definition, web_port, state, route_revision, created_at_ms, updated_at_ms)
     select $1, account_id, id, principal_id, 'opr', 'site', $3, '', 'blank', '{"services": [], "web": null}',
       '{"services": [], "web": "web"}', 20000, 'living', nextval('route_revisions'), 0, 0
     from computers where id = $2`,
    [project, computer, slug],
  );
  await sql(
    `insert into services (id, computer_id, project_id, name, definition, base_environment, desired_state, created_at_ms, updated_at_ms)
     values ($1, $2, $3, 'site-web', $4, '{}', 'running', 0, 0)`,
    [ids("service"), computer, project, JSON.stringify(webService)],
  );
  await sql("notify holdfast_routes");
  return project;
};

const webService = {
  command: "serve",
  cwd: "/work/site",
  environment: {},
  user: { uid: 0, gid: 0 },
  port: 20_000,
  restart: { policy: "on_failure", min_backoff_ms: 1000, max_backoff_ms: 60_000, limit: 5 },
  after: [],
  stop_signal: "SIGTERM",
  stop_grace_ms: 10_000,
  output_limit_bytes: 1024 * 1024,
};
