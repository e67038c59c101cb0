import assert from "node:assert/strict";
import { test } from "node:test";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../../packages/control/src/modules.ts";
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
