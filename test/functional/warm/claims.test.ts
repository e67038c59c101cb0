import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { call, startWithKey } from "../../support/control.ts";
import { playSupervisor, type PlayedSupervisor } from "../../support/played-supervisor.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { hangMs, until } from "../../support/until.ts";

const postgres = usePostgres();

const useWarm = async (context: TestContext, warm: number) => {
  const supervisor = await playSupervisor(context);
  const { control, key } = await startWithKey(context, postgres, {
    supervisor: { instance: "test", socket: supervisor.socket },
    warm,
    key: { ceilings: { computers: 200, disk_bytes: 1e15, largest_size: "large" } },
  });
  const rows = async (): Promise<readonly WarmRow[]> =>
    (await query(
      control.databaseUrl,
      "select computer_id, state from warm_cells order by computer_id",
    )) as unknown as readonly WarmRow[];
  const ready = async (count: number): Promise<void> =>
    until(
      `${count} are ready`,
      async () => {
        const all = await rows();
        return all.length === count && all.every(({ state }) => state === "ready");
      },
      // On a busy machine each is made only after a pause.
      { withinMs: 4 * hangMs },
    );
  const create = async (name: string, fields: object = {}, headers: Readonly<Record<string, string>> = {}) =>
    call(control.url, key.secret, "POST", "/v1/computers", { name, ...fields }, headers);
  return { supervisor, control, key, rows, ready, create };
};

const idsOf = (replies: readonly { readonly body: Readonly<Record<string, unknown>> }[]): string[] =>
  replies.map(({ body }) => String(body["id"]));

const madeCold = (supervisor: PlayedSupervisor, id: string): boolean =>
  supervisor.did.filter((line) => line === `cell.start ${id}`).length > 0 &&
  !supervisor.did.includes(`cell.start warm ${id}`);

test("50 claims at once on a pool of 10: each has its own, ten were started ahead, and the pool is filled again", async (context) => {
  const { supervisor, control, rows, ready, create } = await useWarm(context, 10);
  // Half as many of the next size.
  await ready(15);
  const waiting = (await rows()).map(({ computer_id }) => computer_id);
  const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => create(`c-${index}`)));
  assert.deepEqual(
    replies.map(({ status, body }) => [status, body["state"]]),
    replies.map(() => [201, "awake"]),
    JSON.stringify(replies.find(({ status }) => status !== 201)?.body),
  );
  const ids = idsOf(replies);
  assert.equal(new Set(ids).size, 50);
  assert.equal(new Set(ids.map((id) => supervisor.cells.get(id)?.cellId)).size, 50, "a cell each");
  assert.equal(ids.filter((id) => waiting.includes(id)).length, 10);
  assert.equal(ids.filter((id) => madeCold(supervisor, id)).length, 40);
  assert.ok(ids.every((id) => supervisor.cells.get(id)?.warm === false));
  await ready(15);
  assert.ok((await rows()).every(({ computer_id }) => !ids.includes(computer_id)));
  const events = await query(control.databaseUrl, "select kind, target from events order by id");
  for (const id of ids)
    assert.deepEqual(
      events.filter(({ target }) => target === id).map(({ kind }) => kind),
      ["computer.created", "computer.awake"],
    );
});

test("one of another image or policy is never handed out, not even while nobody knows that it is", async (context) => {
  for (const change of ["image", "policy"] as const) {
    const { supervisor, rows, ready, create } = await useWarm(context, 2);
    await ready(3);
    const old = (await rows()).map(({ computer_id }) => computer_id);
    const cells = old.map((id) => supervisor.cells.get(id)?.cellId);
    supervisor.current = { ...supervisor.current, [change]: "c".repeat(64) };
    // Control has not looked since: it claims one, and the supervisor makes that anew.
    const reply = await create("first");
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    const [id = ""] = idsOf([reply]);
    const cell = supervisor.cells.get(id);
    assert.ok(cell && !cells.includes(cell.cellId), "another cell");
    assert.deepEqual([cell.image, cell.policy], [supervisor.current.image, supervisor.current.policy]);
    assert.equal(reply.body["state"], "awake");
    // And then it looks.
    await until(
      "the old ones are gone",
      async () => (await rows()).every(({ computer_id }) => !old.includes(computer_id)),
      { withinMs: 4 * hangMs },
    );
    assert.ok(old.every((each) => each === id || !supervisor.volumes.has(each)));
  }
});

test("one that is claimed is committed at once: computer, outcome and kept answer", async (context) => {
  const { supervisor, control, rows, ready, create } = await useWarm(context, 1);
  await ready(1);
  const [waiting] = await rows();
  const key = { "idempotency-key": '"claimed-once"' };
  const first = await create("first", {}, key);
  assert.deepEqual(
    [first.status, first.body["id"], first.body["state"]],
    [201, waiting?.computer_id, "awake"],
  );
  // Killed from here on: what was answered stands, and nothing is left for reconciliation.
  assert.deepEqual(
    await query(
      control.databaseUrl,
      `select outcome, target, duration_ms is not null as timed from operations where operation = 'computer.create'`,
    ),
    [{ outcome: "succeeded", target: waiting?.computer_id, timed: true }],
  );
  const asked = supervisor.did.length;
  const again = await create("first", {}, key);
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.deepEqual(
    supervisor.did.slice(asked).filter((line) => line.includes(waiting?.computer_id ?? "")),
    [],
  );
});

test("a warm cell that is gone is no loss to who claims it", async (context) => {
  const { supervisor, rows, ready, create } = await useWarm(context, 2);
  await ready(3);
  for (const { computer_id } of await rows()) supervisor.cells.delete(computer_id);
  const reply = await create("first");
  assert.deepEqual([reply.status, reply.body["state"]], [201, "awake"]);
  assert.ok(supervisor.cells.has(String(reply.body["id"])));
});

test("a creation that is refused leaves the warm cell to the next", async (context) => {
  const { rows, ready, create } = await useWarm(context, 1);
  await ready(1);
  const [waiting] = await rows();
  assert.equal((await create("first", { size: "large" })).status, 201, "another size claims none");
  assert.equal((await create("first")).status, 409, "the name is taken");
  assert.deepEqual(await rows(), [waiting]);
  await ready(1);
  await until("it is handed out", async () => {
    const reply = await create(`c-${Math.random().toString(36).slice(2)}`);
    return reply.body["id"] === waiting?.computer_id;
  });
});

test("a claimed one is listed where its creation belongs, whatever its id", async (context) => {
  const { control, key, ready, create } = await useWarm(context, 1);
  await ready(1);
  const names = ["first", "second", "third"];
  for (const name of names)
    assert.equal((await create(name, { size: name === "second" ? "small" : "large" })).status, 201);
  const listed: string[] = [];
  for (let cursor = ""; ; ) {
    const path = `/v1/computers?limit=1${cursor}`;
    const { body } = await call(control.url, key.secret, "GET", path);
    listed.push(...(body["computers"] as readonly { readonly name: string }[]).map(({ name }) => name));
    const next = body["next_cursor"];
    if (typeof next !== "string") break;
    cursor = `&cursor=${next}`;
  }
  assert.deepEqual(listed, names.toReversed());
});

test("what an earlier control left half-made is destroyed, and what it left ready is kept", async (context) => {
  const { supervisor, control, rows, ready } = await useWarm(context, 2);
  await ready(3);
  const kept = await rows();
  const half = "cmp_0000000000000000000z";
  supervisor.volumes.set(half, supervisor.current.image);
  await query(
    control.databaseUrl,
    `insert into warm_cells (computer_id, node_id, size, state, made_at_ms) select '${half}', node_id, size, 'making', 1 from warm_cells limit 1`,
  );
  await control.restart();
  await until("the half-made one is gone", () => !supervisor.volumes.has(half), { withinMs: hangMs });
  await ready(3);
  assert.deepEqual(await rows(), kept);
});

interface WarmRow {
  readonly computer_id: string;
  readonly state: string;
}
