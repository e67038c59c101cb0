import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentServiceState } from "@holdfast/contract";
import { until } from "../../../../test/support/until.ts";
import type { ProjectRow } from "../store/projects.ts";
import { ProjectViews, type ProjectViewsParts } from "./views.ts";

const definition = { command: "true", environment: {}, after: [], restart: {}, user: { uid: 0, gid: 0 } };
const serviceRow = (n: number) => ({
  id: `s${n}`,
  name: `p${n}-web`,
  computer_id: `c${n}`,
  project_id: `p${n}`,
  definition,
  base_environment: {},
  desired_state: "running",
  created_at_ms: 0,
  updated_at_ms: 0,
  version: 1,
});
const projectRow = (n: number) =>
  ({
    id: `p${n}`,
    name: `p${n}`,
    slug: `p${n}`,
    computer_id: `c${n}`,
    state: "living",
    published: null,
    definition: { services: [], web: "web" },
    deployed_definition: { services: [], web: "web" },
    created_at_ms: 0,
    updated_at_ms: 0,
  }) as unknown as ProjectRow;

const computerRow = (n: number) => ({ id: `c${n}`, state: "awake", desired_state: "awake" });
const rows = {
  services: [serviceRow(1), serviceRow(2)],
  computers: [computerRow(1), computerRow(2)],
  deployments: [],
  schedules: [],
};

/** Says so of each service, its own or not. */
const says = (state: string): readonly AgentServiceState[] =>
  [1, 2].map(
    (n) => ({ id: `s${n}`, state, reason: null, restarts: 0, exit: null, ready_at_ms: null }) as never,
  );

/** Two projects, each on a computer of its own. The first computer answers `first`, or never. */
const viewing = (first: readonly AgentServiceState[] | undefined) => {
  const waits: (() => void)[] = [];
  const asked = new Set<string>();
  const statements: string[] = [];
  const statement = (table: keyof typeof rows) => {
    statements.push(table);
    const self = {
      selectAll: () => self,
      distinctOn: () => self,
      orderBy: () => self,
      where: () => self,
      execute: () => Promise.resolve(rows[table]),
    };
    return self;
  };
  const never = (signal: AbortSignal) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
    );
  const parts = {
    db: { selectFrom: statement },
    projectsAddress: new URL("http://localhost"),
    computers: { activity: { look: () => () => {}, isLeaving: () => false } },
    agents: {
      of: (id: string) => ({
        plain: (_method: string, _params: unknown, { signal }: { signal: AbortSignal }) => {
          const services = id === "c1" ? first : says("ready");
          asked.add(id);
          return services ? Promise.resolve({ services }) : never(signal);
        },
      }),
    },
    clock: {
      after: (_ms: number, callback: () => void) => {
        waits.push(callback);
        return () => {};
      },
    },
  };
  const shown = new ProjectViews(parts as unknown as ProjectViewsParts)
    .ofAll([projectRow(1), projectRow(2)], new AbortController().signal)
    .then((views) => views.map(({ services }) => services[0]?.state));
  return { shown, asked, statements, late: () => waits.forEach((wait) => wait()) };
};

test("a computer that does not answer keeps nobody from a list for long", { timeout: 5_000 }, async () => {
  const { shown, asked, late } = viewing(undefined);
  await until("both were asked", () => asked.size === 2);
  late();
  assert.deepEqual(await shown, ["unknown", "ready"]);
});

test("what an agent says of another computer's services is not heard", async () => {
  assert.deepEqual(await viewing(says("failed")).shown, ["failed", "ready"]);
});

test("a list costs as many statements as one project", async () => {
  const { shown, statements } = viewing(says("ready"));
  await shown;
  assert.deepEqual(statements.sort(), ["computers", "deployments", "schedules", "services"]);
});
