import assert from "node:assert/strict";
import { test } from "node:test";
import { type AccessRecord, type ControlGatewayMethods, HoldfastError, limits } from "@holdfast/contract";
import { createLogger, type RpcClient } from "@holdfast/kit";
import { steppedClock } from "../../../../test/support/stepped-clock.ts";
import { createRecords } from "./batch.ts";

const record = (path: string): AccessRecord => ({
  project_id: "prj_00000000000000000001",
  at_ms: 1,
  port: null,
  method: "GET",
  path,
  status: 200,
  received_bytes: 0,
  sent_bytes: 1,
  duration_ms: 1,
  subject: null,
});

/** Records on their way to a control that does what `take` says; `turn` lets one interval pass. */
const start = (take: (records: readonly AccessRecord[]) => void) => {
  const clock = steppedClock();
  const control = {
    call: async (_method: string, { records }: { readonly records: readonly AccessRecord[] }) => {
      take(records);
      return {};
    },
    close: () => {},
  } as unknown as RpcClient<ControlGatewayMethods>;
  const logger = createLogger({ program: "gateway", now: () => 0, write: () => {} });
  const records = createRecords({ control, clock, logger });
  void records.run(new AbortController().signal);
  return { records, turn: () => clock.step() };
};

test("records go in order and in messages that control can take", async () => {
  const taken: AccessRecord[] = [];
  const messages: number[] = [];
  const { records, turn } = start((batch) => {
    messages.push(JSON.stringify(batch).length);
    assert.ok(batch.length <= limits.accessRecordsPerBatch);
    taken.push(...batch);
  });
  const paths = Array.from({ length: 1500 }, (_, index) => `/${index}${"x".repeat(index < 800 ? 1000 : 0)}`);
  for (const path of paths) records.add(record(path));
  await turn();
  assert.deepEqual(
    taken.map(({ path }) => path),
    paths,
  );
  assert.ok(messages.every((bytes) => bytes < 1024 * 1024));
});

test("while control is away they are kept up to a limit, then dropped and counted; what was kept is sent when it is back", async () => {
  let away = true;
  const taken: AccessRecord[] = [];
  const { records, turn } = start((batch) => {
    if (away) throw new HoldfastError("unavailable", "away");
    taken.push(...batch);
  });
  for (let index = 0; index < 25_000; index += 1) records.add(record(`/${index}`));
  await turn();
  assert.equal(records.dropped, 5000);
  assert.equal(taken.length, 0);
  away = false;
  await turn();
  assert.equal(taken.length, 20_000);
  assert.equal(taken[0]?.path, "/0");
  records.add(record("/later"));
  await turn();
  assert.equal(taken.at(-1)?.path, "/later");
  assert.equal(records.dropped, 5000);
});

test("what control never takes does not hold up the rest", async () => {
  const taken: string[] = [];
  const { records, turn } = start((batch) => {
    if (batch.some(({ path }) => path === "/odd")) throw new HoldfastError("invalid_input", "odd");
    taken.push(...batch.map(({ path }) => path));
  });
  records.add(record("/odd"));
  await turn();
  records.add(record("/fine"));
  await turn();
  assert.deepEqual(taken, ["/fine"]);
  assert.equal(records.dropped, 1);
});
