import assert from "node:assert/strict";
import { test } from "node:test";
import { widthOf } from "../present/lines.ts";
import type { Computer, Project, Schedule, Seen, Service } from "./collect.ts";
import { summaryOf, tableOf } from "./frame.ts";
import { pageOf, type PageState } from "./page.ts";

type Run = NonNullable<Schedule["last_run"]>;

const at = "2026-01-01T00:00:00Z";
const now = Date.parse(at) + 600_000;

const computer = (fields: Partial<Computer>): Computer => ({
  id: "cmp_00000000000000000001",
  name: "box",
  description: "",
  state: "awake",
  desired_state: "awake",
  reason: null,
  size: "small",
  environment: {},
  owner: "prn_1",
  created_at: at,
  updated_at: at,
  awake_since: at,
  active_at: at,
  sleep_after_ms: 900_000,
  stop_after_ms: 86_400_000,
  archive_after_ms: 0,
  keep_awake: false,
  keep_hourly: 0,
  keep_daily: 0,
  keep_weekly: 0,
  expires_at: null,
  parent: null,
  origin: null,
  version: "1",
  ...fields,
});

const service = (fields: Partial<Service>): Service => ({
  id: "svc_1",
  computer: "box",
  name: "counter",
  command: null,
  argv: ["./counter"],
  cwd: "/work",
  environment: {},
  user: { uid: 0, gid: 0 },
  port: 8080,
  readiness: null,
  liveness: null,
  restart: {},
  after: [],
  stop_signal: "TERM",
  stop_grace_ms: 0,
  output_limit_bytes: 0,
  desired_state: "running",
  state: "ready",
  reason: null,
  restarts: 0,
  exit: null,
  ready_at: at,
  created_at: at,
  updated_at: at,
  version: "1",
  ...fields,
});

const project = (fields: Partial<Project>): Project => ({
  id: "prj_1",
  name: "shop",
  slug: "shop",
  description: "",
  computer: "box",
  folder: "/work/shop",
  address: "http://shop.localhost:7301/",
  visibility: "private",
  published: null,
  template: "web-app",
  definition: { services: [], web: "web" },
  state: "running",
  services: [service({ id: "svc_2", name: "shop-web", port: 20_000, restarts: 3 })],
  deployment: null,
  schedules: [],
  owner: "prn_1",
  next: [],
  created_at: at,
  updated_at: at,
  version: "1",
  ...fields,
});

const run = (fields: Partial<Run>): Run => ({
  id: "run_1",
  schedule: "sch_1",
  computer: "cmp_00000000000000000001",
  cause: "slot",
  slot: at,
  state: "succeeded",
  reason: null,
  attempt: 1,
  process: null,
  exit: { kind: "exited", code: 0 },
  timed_out: false,
  woke: "asleep",
  fork: null,
  output_bytes: 0,
  created_at: at,
  started_at: at,
  ended_at: at,
  duration_ms: 10,
  ...fields,
});

const schedule = (fields: Partial<Schedule>): Schedule => ({
  id: "sch_1",
  computer: "cmp_00000000000000000001",
  project: null,
  name: "nightly",
  state: "active",
  cron: "0 3 * * *",
  every_ms: null,
  at: null,
  event: false,
  time_zone: "UTC",
  command: "true",
  argv: null,
  cwd: "/work",
  environment: {},
  user: { uid: 0, gid: 0 },
  timeout_ms: 3_600_000,
  missed: "run_once",
  missed_most: 10,
  overlap: "skip",
  retries: 0,
  retry_backoff_ms: 10_000,
  retries_per_day: 24,
  place: "computer",
  next_slot: "2026-01-01T03:00:00Z",
  last_run: null,
  run_address: null,
  owner: "prn_1",
  created_at: at,
  updated_at: at,
  version: "1",
  ...fields,
});

const usage = {
  cpu_ms: 5,
  memory_bytes: 120 * 1024 ** 2,
  memory_limit_bytes: 1024 ** 3,
  processes: 3,
  processes_limit: 512,
  disk_bytes: 300 * 1024 ** 2,
  disk_limit_bytes: 5 * 1024 ** 3,
  out_of_memory_kills: 0,
};

const seen = (fields: Partial<Seen>): Seen => ({
  computer: computer({}),
  usage,
  cpuShare: 0.126,
  services: [],
  projects: [],
  schedules: [],
  ...fields,
});

const worker = service({
  id: "svc_3",
  name: "shop-worker",
  port: null,
  state: "failed",
  reason: "exit \x1b[2J code 1",
});
const all = [
  seen({
    projects: [
      project({ services: [...project({}).services, worker] }),
      project({
        slug: "inbox",
        visibility: "published",
        published: [{ methods: ["POST"], path: "/hooks/*" }],
      }),
    ],
    services: [service({}), service({ id: "svc_2", name: "shop-web" }), worker],
  }),
  seen({
    computer: computer({ name: "x".repeat(40), state: "failed", reason: "its disk is gone" }),
    usage: null,
    cpuShare: null,
  }),
];

test("what belongs together stands together, and each thing once", () => {
  assert.deepEqual(tableOf(all, { now, width: undefined, color: false }), [
    `${"COMPUTER".padEnd(40)}  STATE    CPU  MEMORY      DISK`,
    `${"  PROJECT, SERVICE, SCHEDULE".padEnd(40)}  STATE    RST  VISIBILITY  ADDRESS`,
    `${"box".padEnd(40)}  awake    13%  120M/1.0G   300M/5.0G`,
    `${"  shop".padEnd(40)}  running  3    private     http://shop.localhost:7301/`,
    `${"    worker".padEnd(40)}  failed   0    -           -`,
    "      exit \\x1b[2J code 1",
    `${"  inbox".padEnd(40)}  running  3    in part     http://shop.localhost:7301/`,
    `${"  counter".padEnd(40)}  ready    0    -           port 8080`,
    `${"x".repeat(40)}  failed   -    -           -`,
    "  its disk is gone",
  ]);
  assert.equal(
    summaryOf(all, now),
    "2 computers (1 failed, 1 awake)  2 projects (1 published)  4 services (1 failed)",
  );
});

test("schedules stand under what they belong to, what failed and the soonest first, and few of many", () => {
  const many = ["a", "b", "c", "d", "e"].map((name, index) =>
    schedule({ id: `sch_${name}`, name, next_slot: `2026-01-01T0${5 - index}:10:00Z` }),
  );
  const asleep = seen({
    computer: computer({ state: "asleep" }),
    projects: [project({ services: [] })],
    schedules: [
      schedule({ project: "prj_1", name: "digest", last_run: run({}) }),
      schedule({
        project: "prj_1",
        name: "now",
        next_slot: null,
        last_run: run({ state: "running", ended_at: null }),
      }),
    ],
  });
  const archived = seen({
    computer: computer({ name: "old", state: "archived" }),
    usage: null,
    schedules: [
      ...many,
      schedule({
        name: "broken",
        next_slot: null,
        last_run: run({ state: "failed", exit: { kind: "exited", code: 7 } }),
      }),
    ],
  });
  const lines = tableOf([asleep, archived], { now, width: 99, color: false }).slice(2);
  assert.deepEqual(
    lines.map((line) => line.replaceAll(/ {2,}(?=\S)/g, "  ")),
    [
      "box  asleep  -  120M/1.0G  300M/5.0G",
      "  shop  running  -  private  shop.localhost:7301",
      "  digest  active  -  -  next in 3 h, succeeded 10 min ago",
      "  now  running  -  -  -",
      "old  archived  -  -  -",
      "  broken  active  -  -  failed (7) 10 min ago",
      "  e  active  -  -  next in 1 h",
      "  d  active  -  -  next in 2 h",
      "  and 3 more: holdfast schedules list",
    ],
  );
  assert.equal(
    summaryOf([asleep, archived], now),
    "2 computers (1 asleep, 1 archived)  1 project  1 service  next slot in 1 h (e)",
  );
});

const page = (fields: Partial<PageState>) =>
  pageOf({
    seen: all,
    trouble: undefined,
    place: "default at http://127.0.0.1:7300",
    scrolled: 0,
    now: 0,
    answeredAtMs: 0,
    color: false,
    columns: 80,
    rows: 24,
    ...fields,
  });

test("a page fits its terminal, scrolls within what there is, and obeys nothing", () => {
  for (const [columns, rows] of [
    [80, 24],
    [200, 50],
    [60, 9],
    [30, 7],
  ] as const) {
    const { lines } = page({ columns, rows });
    assert.ok(lines.length <= rows, `${lines.length} lines of ${rows}`);
    for (const line of lines) assert.ok(widthOf(line) <= columns, `${columns}: ${line}`);
    assert.doesNotMatch(lines.join("\n"), /[^\P{Cc}\n]/u);
  }
  assert.ok(
    page({}).lines.some((line) => line.includes("shop.localhost:7301")),
    "an address is there at 80",
  );
  const low = page({ rows: 9, scrolled: 1000 });
  assert.equal(low.scrolled, 8 - 3);
  assert.match(low.lines.at(-1) ?? "", /^5 above {3}arrow/);
  assert.match(page({ rows: 9 }).lines.at(-1) ?? "", /^5 more below/);
});

test("an outage is told above what was last seen; nothing is told as nothing", () => {
  const away = page({ trouble: "Holdfast does not answer", now: 60_000 });
  assert.match(
    away.lines[1] ?? "",
    /^Holdfast does not answer; trying again\. What is below is of \d\d:\d\d:00/,
  );
  assert.ok(away.lines.some((line) => line.startsWith("box")));
  assert.match(
    page({ seen: undefined, trouble: "Holdfast does not answer" }).lines[1] ?? "",
    /trying again\.$/,
  );
  assert.match(page({ seen: [] }).lines.join("\n"), /No computers\. Make one/);
});
