import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger } from "@holdfast/kit";
import { eventValues } from "../../../packages/control/src/store/events.ts";
import { openStore } from "../../../packages/control/src/store/open.ts";
import { observeProcess } from "../../../packages/control/src/store/processes.ts";
import { call, startWithKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";

const postgres = usePostgres();
const half = "\ud83d";

test("text that Postgres cannot hold fails nothing: it is kept with U+FFFD in its place", async (context) => {
  const { control, key } = await startWithKey(context, postgres);
  const made = await call(control.url, key.secret, "POST", "/v1/computers", {
    name: "box",
    description: `a\0b${half}c`,
    environment: { ODD: `x${half}y` },
    wait_ms: 0,
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const rows = await query(control.databaseUrl, "select description, environment from computers");
  assert.deepEqual(rows, [{ description: "a\ufffdb\ufffdc", environment: { ODD: "x\ufffdy" } }]);
  const nobody = await call(control.url, undefined, "POST", "/v1/sessions", {
    name: "own\0er",
    passphrase: "not this one",
  });
  assert.equal(nobody.status, 401);
  const nothing = await call(control.url, key.secret, "GET", "/v1/records?target=a%00b");
  assert.equal(nothing.status, 200);
  assert.equal(control.log.filter(({ level }) => level === "error").length, 0);
});

test("what is told of a process is told, whatever its command is made of", async (context) => {
  const { control, key } = await startWithKey(context, postgres);
  await call(control.url, key.secret, "POST", "/v1/computers", { name: "box", wait_ms: 0 });
  await query(
    control.databaseUrl,
    `insert into processes (id, computer_id, operation_id, principal_id, command, terminal, stdin_open, state, started_at_ms)
     select 'prc_x', id, 'opr_x', principal_id, 'x', false, false, 'starting', 1 from computers`,
  );
  const store = openStore({
    url: control.databaseUrl,
    logger: createLogger({ program: "test", now: Date.now }),
  });
  context.after(() => store.close());
  const told = eventValues(
    {
      accountId: "acc_x",
      kind: "process.started",
      target: "prc_x",
      computerId: null,
      visibleTo: null,
      data: { command: `echo ${half}` },
    },
    1,
  );
  const seen = {
    cellId: null,
    state: "running",
    exit: null,
    timedOut: false,
    outOfMemory: false,
    background: false,
    stdinOpen: false,
    endedAtMs: null,
    outputBytes: 0,
    droppedBytes: 0,
  } as const;
  await observeProcess(store.db, "prc_x", seen, [told]).execute();
  const rows = await query(control.databaseUrl, "select data from events where target = 'prc_x'");
  assert.deepEqual(rows, [{ data: { command: "echo \ufffd" } }]);
});
