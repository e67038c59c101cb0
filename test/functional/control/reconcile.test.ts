import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, systemClock } from "@holdfast/kit";
import { createReconciliation } from "../../../packages/control/src/dispatch/reconcile.ts";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../../packages/control/src/modules.ts";
import { openStore } from "../../../packages/control/src/store/open.ts";
import { startControl } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();

/** Whose word on its operations is always an error of its own. */
const broken = (shared: Shared): readonly Module[] => [
  ...coreModules(shared),
  {
    handlers: {},
    reconcilers: [
      {
        operations: ["computer.create"],
        reconcile: () => Promise.reject(new TypeError("it does not know itself")),
      },
    ],
  },
];

test("an operation that cannot be reconciled keeps neither the later ones nor a start waiting", async (context) => {
  const control = await startControl(context, postgres, { modules: broken });
  const [node] = await query(control.databaseUrl, "select id from nodes");
  const insert = (id: string, operation: string) =>
    query(
      control.databaseUrl,
      `insert into operations (id, account_id, node_id, operation, principal_id, credential_id, source, outcome, input_digest, started_at_ms)
       values ('${id}', 'acc_x', '${String(node?.["id"])}', '${operation}', 'asst_x', 'key_x', 'http x', 'running', '', 1)`,
    );
  await insert("opr_1", "computer.create");
  await insert("opr_2", "file.write");
  const outcomes = async () =>
    (
      await query(
        control.databaseUrl,
        "select id, outcome from operations where id like 'opr\\__' order by id",
      )
    ).map(({ outcome }) => outcome);
  await until("the later one has its outcome", async () => (await outcomes())[1] === "unknown");
  await control.restart();
  assert.deepEqual(await outcomes(), ["running", "unknown"]);
  const told = control.log.filter(({ message }) => message === "an operation could not be reconciled");
  assert.ok(told.length >= 1 && told.length <= 2, `${told.length}: once for each start`);
});

test("an operation that ends while it is listed is nobody's to take back", async (context) => {
  const { url, drop } = await (await postgres).createDatabase();
  context.after(drop);
  const logger = createLogger({ program: "test", now: Date.now, level: "error" });
  const store = openStore({ url, logger });
  context.after(() => store.close());
  for (const [id, operation] of [
    ["opr_ended", "child.create"],
    ["opr_left", "child.create"],
  ])
    await query(
      url,
      `insert into operations (id, account_id, node_id, operation, principal_id, credential_id, source, outcome, input_digest, started_at_ms)
       values ('${id}', 'acc_x', 'node_x', '${operation}', 'asst_x', 'key_x', 'http x', 'running', '', 1)`,
    );
  const judged: string[] = [];
  /** Says, as a set of running ones does, that nobody works on it: its outcome has just been recorded. */
  const ending = new Set<string>();
  ending.has = () => false;
  const began = createReconciliation({
    store: {
      ...store,
      transaction: async (work, last) => {
        await query(url, "update operations set outcome = 'succeeded' where id = 'opr_ended'");
        return store.transaction(work, last);
      },
    },
    clock: systemClock,
    logger,
    crashPoint: () => {},
    nodeId: "node_x",
    running: ending,
    reconcilers: [
      {
        operations: ["child.create"],
        reconcile: (_transaction, { operationId }) => {
          judged.push(operationId);
          return Promise.resolve({ outcome: "failed", error: "unavailable" });
        },
      },
    ],
  });
  await began.pass();
  assert.deepEqual(judged, ["opr_left"]);
  const rows = await query(url, "select id, outcome from operations order by id");
  assert.deepEqual(
    rows.map(({ outcome }) => outcome),
    ["succeeded", "failed"],
  );
});
