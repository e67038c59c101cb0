import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, limits } from "@holdfast/contract";
import { type Clock, systemClock } from "@holdfast/kit";
import type { Handler, OperationContext } from "../../../packages/control/src/domain/handler.ts";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../../packages/control/src/modules.ts";
import { bareComputer } from "../../support/bare-computer.ts";
import { call, createKey, enrolOwner, startControl, startWithKey } from "../../support/control.ts";
import { startPostgres, usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();

type Create = Handler<"computer.create">;

/** Control whose `computer.create` is the test's own: what is tried here is dispatch. */
const withCreate =
  (create: Partial<Create>, more: Partial<Module> = {}) =>
  (shared: Shared): readonly Module[] => [
    ...coreModules(shared),
    { handlers: { "computer.create": { run: answer, ...create } }, ...more },
  ];

const answer: Create["run"] = (context, params) =>
  Promise.resolve({ output: computer(context, params.name), target: "cmp_00000000000000000000" });

const computer = (context: OperationContext, name: string) => ({
  ...bareComputer,
  name,
  owner: context.principal.id,
  made_by: context.operationId,
});

const start = async (
  context: Parameters<typeof startControl>[0],
  options: Parameters<typeof startControl>[2],
) => {
  const { control, owner, key } = await startWithKey(context, postgres, options);
  const create = (idempotencyKey: string | undefined, body: unknown = { name: "one" }) =>
    call(
      control.url,
      key.secret,
      "POST",
      "/v1/computers",
      body,
      idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
    );
  return { control, owner, key, create };
};

test("the same key and body run once and answer the first result, also when twenty arrive at once", async (context) => {
  let ran = 0;
  const { create } = await start(context, {
    modules: withCreate({
      run: async (operation, params, admitted) => {
        ran += 1;
        await systemClock.sleep(30);
        return answer(operation, params, admitted);
      },
    }),
  });
  const replies = await Promise.all(Array.from({ length: 20 }, () => create("k1")));
  assert.equal(ran, 1);
  assert.equal(replies.filter((reply) => reply.status === 201).length >= 1, true);
  for (const reply of replies.filter((one) => one.status !== 201))
    assert.deepEqual([reply.status, reply.body["code"]], [409, "operation_running"]);
  const again = await create('"k1"');
  assert.equal(again.status, 201);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.ok(Date.parse(again.headers.get("idempotency-expires") ?? "") > Date.now() + 23 * 3600 * 1000);
  assert.equal(again.body["made_by"], replies.find((reply) => reply.status === 201)?.body["made_by"]);
  assert.equal(ran, 1);
});

test("another body under the same key is refused, another principal's key is another key", async (context) => {
  const { control, owner, create } = await start(context, { modules: withCreate({}) });
  assert.equal((await create("k1")).status, 201);
  const other = await create("k1", { name: "two" });
  assert.deepEqual([other.status, other.body["code"]], [422, "idempotency_mismatch"]);
  const second = await createKey(control, owner, "codex");
  const reply = await call(
    control.url,
    second.secret,
    "POST",
    "/v1/computers",
    { name: "two" },
    { "idempotency-key": "k1" },
  );
  assert.equal(reply.status, 201);
  assert.equal(reply.headers.get("idempotency-replayed"), null);
});

test("a failure that may be repeated frees the key, another is answered again", async (context) => {
  let failure: HoldfastError | undefined = new HoldfastError("host_full", "no room");
  const { create } = await start(context, {
    modules: withCreate({
      run: (operation, params, admitted) =>
        failure ? Promise.reject(failure) : answer(operation, params, admitted),
    }),
  });
  assert.equal((await create("k1")).body["code"], "host_full");
  failure = new HoldfastError("name_taken", "in use", { name: "one" });
  assert.equal((await create("k1")).body["code"], "name_taken");
  failure = undefined;
  const kept = await create("k1");
  assert.deepEqual([kept.body["code"], kept.body["details"]], ["name_taken", { name: "one" }]);
  assert.equal((await create("k2")).status, 201);
});

test("a key is free again after a day", async (context) => {
  let offsetMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + offsetMs };
  const { create } = await start(context, { clock, modules: withCreate({}) });
  const first = await create("k1");
  offsetMs = 24 * 3600 * 1000 + 1000;
  const second = await create("k1", { name: "two" });
  assert.equal(second.status, 201);
  assert.notEqual(second.body["made_by"], first.body["made_by"]);
});

test("a key of a secret answers it again to the same session alone", async (context) => {
  const control = await startControl(context, postgres);
  const owner = await enrolOwner(control);
  const create = (token: string) =>
    call(control.url, token, "POST", "/v1/keys", { name: "claude" }, { "idempotency-key": "k1" });
  const first = await create(owner);
  const again = await create(owner);
  assert.equal(again.body["secret"], first.body["secret"]);
  const rows = await query(control.databaseUrl, "select output::text from idempotency_keys");
  assert.ok(!JSON.stringify(rows).includes(String(first.body["secret"])));
  const { passphrase } = await import("../../support/control.ts");
  const login = await call(control.url, undefined, "POST", "/v1/sessions", { name: "owner", passphrase });
  const elsewhere = await create(String(login.body["token"]));
  assert.equal(elsewhere.body["code"], "idempotency_mismatch");
});

test("a change is recorded before it runs and with its outcome after it", async (context) => {
  let during: unknown;
  let databaseUrl = "";
  const { control, create, key } = await start(context, {
    modules: withCreate({
      admit: () => Promise.resolve({ target: "cmp_0000000000000000000a" }),
      run: async (operation, params, admitted) => {
        during = await query(
          databaseUrl,
          `select outcome, target from operations where id = '${operation.operationId}'`,
        );
        return answer(operation, params, admitted);
      },
    }),
  });
  databaseUrl = control.databaseUrl;
  await create(undefined);
  assert.deepEqual(during, [{ outcome: "running", target: "cmp_0000000000000000000a" }]);
  const records = await call(control.url, key.secret, "GET", "/v1/records");
  const [record] = records.body["records"] as Record<string, unknown>[];
  assert.equal(record?.["operation"], "computer.create");
  assert.equal(record["outcome"], "succeeded");
  assert.equal(record["target"], "cmp_00000000000000000000");
  assert.equal(record["principal"], key.assistant);
  assert.match(String(record["input_digest"]), /^[0-9a-f]{64}$/);
});

test("what admit and settle write stands or falls with the record", async (context) => {
  const write =
    (shared: Shared, note: string) => (transaction: Parameters<NonNullable<Create["admit"]>>[0]) =>
      shared.events.append(transaction, {
        accountId: "acc",
        kind: note,
        target: null,
        computerId: null,
        visibleTo: null,
        data: {},
      });
  const { control, create } = await start(context, {
    modules: (shared) =>
      withCreate({
        admit: async (transaction, _context, params) => {
          await write(shared, `admit.${params.name}`)(transaction);
          if (params.name === "refused") throw new HoldfastError("name_taken", "in use");
          return {};
        },
        run: (operation, params) =>
          Promise.resolve({
            output: computer(operation, params.name),
            settle: async (transaction) => {
              await write(shared, `settle.${params.name}`)(transaction);
              if (params.name === "unsettled") throw new HoldfastError("wrong_state", "not any more");
            },
          }),
      })(shared),
  });
  assert.equal((await create(undefined, { name: "fine" })).status, 201);
  assert.equal((await create(undefined, { name: "refused" })).body["code"], "name_taken");
  assert.equal((await create(undefined, { name: "unsettled" })).body["code"], "wrong_state");
  const rows = await query(
    control.databaseUrl,
    "select kind from events where account_id = 'acc' order by id",
  );
  assert.deepEqual(
    rows.map((row) => row["kind"]),
    ["admit.fine", "settle.fine", "admit.unsettled"],
  );
  await systemClock.sleep(250);
  const outcomes = await query(
    control.databaseUrl,
    "select outcome, error from operations where operation = 'computer.create' order by id",
  );
  assert.deepEqual(outcomes, [
    { outcome: "succeeded", error: null },
    { outcome: "refused", error: "name_taken" },
    { outcome: "failed", error: "wrong_state" },
  ]);
});

test("an operation that control left behind is reconciled at the next start, never run again", async (context) => {
  let ran = 0;
  let leave = true;
  const stuck = new Promise<never>(() => {});
  const { control, create } = await start(context, {
    modules: withCreate(
      {
        run: (operation, params, admitted) => {
          ran += 1;
          return leave ? stuck : answer(operation, params, admitted);
        },
      },
      {
        reconcilers: [
          {
            operations: ["computer.create"],
            reconcile: (_transaction, unsettled) =>
              Promise.resolve(
                unsettled.target === null ? undefined : { outcome: "failed", error: "host_full" as const },
              ),
          },
        ],
      },
    ),
  });
  const lost = create("k1").catch(() => undefined);
  while (ran === 0) await systemClock.sleep(5);
  assert.equal((await create("k1")).body["code"], "operation_running");
  leave = false;
  await control.restart();
  await lost;
  const rows = await query(
    control.databaseUrl,
    "select outcome from operations where operation = 'computer.create' and outcome <> 'refused'",
  );
  assert.deepEqual(rows, [{ outcome: "unknown" }]);
  const reply = await create("k1").catch((error: unknown) => error);
  assert.equal((reply as { body: { code: string } }).body.code, "timed_out");
  assert.equal(ran, 1);
});

test("what goes on by itself is answered before its caller gives up, and the same key finds how it ended", async (context) => {
  const late = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    after: (ms, then) => {
      if (ms > limits.answerMs || ms < limits.waitMs) return systemClock.after(ms, then);
      late.add(then);
      return () => void late.delete(then);
    },
  };
  let done = Promise.withResolvers<HoldfastError | undefined>();
  const { control, create } = await start(context, {
    clock,
    modules: withCreate({
      goesOn: true,
      run: async (operation, params, admitted) => {
        const failure = await done.promise;
        if (failure) throw failure;
        return answer(operation, params, admitted);
      },
    }),
  });
  /** Asks for what takes too long, answers what is said of it, and lets it end. */
  const slow = async (key: string | undefined, end?: HoldfastError): Promise<readonly unknown[]> => {
    done = Promise.withResolvers();
    const asked = create(key);
    await until("it runs", () => late.size === 1);
    for (const then of late) then();
    const { status, body, headers } = await asked;
    assert.ok(Number(headers.get("retry-after")) > 0);
    if (key !== undefined) assert.equal((await create(key)).body["code"], "operation_running");
    done.resolve(end);
    await until("it is settled", () => late.size === 0);
    return [status, body["code"], /the same idempotency key/.test(String(body["detail"]))];
  };
  assert.deepEqual(await slow("k1"), [409, "operation_running", true]);
  const found = await create("k1");
  assert.deepEqual([found.status, found.headers.get("idempotency-replayed")], [201, "true"]);
  assert.deepEqual(await slow("k2", new HoldfastError("name_taken", "in use")), [
    409,
    "operation_running",
    true,
  ]);
  assert.equal((await create("k2")).body["code"], "name_taken");
  assert.deepEqual(await slow(undefined), [409, "operation_running", false]);
  done = Promise.withResolvers();
  done.resolve(undefined);
  assert.equal((await create("k3")).status, 201);
  assert.equal(late.size, 0, "no timer is left");
  const outcomes = await query(
    control.databaseUrl,
    "select outcome, error from operations where operation = 'computer.create' and outcome <> 'refused' order by id",
  );
  assert.deepEqual(outcomes, [
    { outcome: "succeeded", error: null },
    { outcome: "failed", error: "name_taken" },
    { outcome: "succeeded", error: null },
    { outcome: "succeeded", error: null },
  ]);
});

test("looking is recorded in batches and writes nothing on its path", async (context) => {
  // Batches wait until the test lets them go: on a busy machine the requests take longer than one batch.
  const batches: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, then) =>
      ms === limits.recordsBatchMs ? (batches.push(then), () => {}) : systemClock.after(ms, then),
  };
  // What other files write into the cluster of the run is not this one's doing.
  const own = await startPostgres({ own: true });
  const { control, key } = await startWithKey(context, Promise.resolve(own), {
    modules: withCreate({}),
    clock,
  });
  context.after(() => own.stop());
  const lsn = async () =>
    (await query(control.databaseUrl, "select pg_current_wal_lsn()::text as lsn"))[0]?.["lsn"];
  let before = await lsn();
  const quiet = async (): Promise<boolean> => {
    await systemClock.sleep(700);
    const last = before;
    before = await lsn();
    return last === before;
  };
  let asked = 0;
  const writesNothing = async (): Promise<boolean> => {
    await until("nothing is written by itself", quiet);
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => call(control.url, key.secret, "GET", "/v1/principal")),
    );
    assert.ok(replies.every((reply) => reply.status === 200));
    asked += replies.length;
    return (await lsn()) === before;
  };
  // Postgres may write by itself at that moment; requests that write would do so each time.
  assert.ok((await writesNothing()) || (await writesNothing()) || (await writesNothing()));
  for (const batch of batches.splice(0)) batch();
  await until("they are recorded", async () => {
    const rows = await query(
      control.databaseUrl,
      "select count(*)::int as n from operations where operation = 'principal.get' and outcome = 'succeeded'",
    );
    return rows[0]?.["n"] === asked;
  });
});

test("refusals of every stage are recorded", async (context) => {
  const { control, key, create } = await start(context, { modules: withCreate({}) });
  await call(control.url, "hf_wrong", "GET", "/v1/principal");
  await create(undefined, { name: "Not A Name" });
  await call(control.url, key.secret, "GET", "/v1/keys");
  await systemClock.sleep(300);
  const rows = await query(
    control.databaseUrl,
    "select operation, error, principal_id = 'anonymous' as nobody from operations where outcome = 'refused' order by id",
  );
  assert.deepEqual(rows, [
    { operation: "principal.get", error: "unauthenticated", nobody: true },
    { operation: "computer.create", error: "invalid_input", nobody: false },
    { operation: "key.list", error: "not_found", nobody: false },
  ]);
});

test("an unexpected failure tells the caller an id and the operator the cause", async (context) => {
  const { control, create } = await start(context, {
    modules: withCreate({ run: () => Promise.reject(new TypeError("a secret inside")) }),
  });
  const reply = await create(undefined);
  assert.equal(reply.status, 500);
  assert.ok(!JSON.stringify(reply.body).includes("secret inside"));
  const id = (reply.body["details"] as { error_id: string }).error_id;
  assert.ok(
    control.log.some((line) => line["error_id"] === id && JSON.stringify(line).includes("a secret inside")),
  );
});
