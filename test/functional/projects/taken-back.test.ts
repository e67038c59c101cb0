import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { startVisiting } from "../../support/visits.ts";

const postgres = usePostgres();

/** Control with projects that are written straight into its database: creations that nobody works on. */
const start = async (context: TestContext) => {
  const { control, sql, project } = await startVisiting(context, postgres);
  /** Neither awake nor destroyed, so it is let alone until `end`. */
  const creating = async (slug: string, computer = slug): Promise<string> => {
    const id = await project(computer);
    await sql("delete from services where project_id = $1", [id]);
    await sql("update projects set state = 'creating', slug = $2, route_revision = 0 where id = $1", [
      id,
      slug,
    ]);
    await sql(
      `insert into slugs select slug, id, principal_id, account_id from projects where id = $1
       on conflict (slug) do update set project_id = excluded.project_id`,
      [id],
    );
    return id;
  };
  const end = (id: string) =>
    sql(
      "update computers set desired_state = 'destroyed' where id = (select computer_id from projects where id = $1)",
      [id],
    );
  const meaningOf = async (slug: string): Promise<unknown> =>
    (await sql("select project_id from slugs where slug = $1", [slug]))[0]?.["project_id"];
  const isGone = async (id: string): Promise<boolean> =>
    (await sql("select from projects where id = $1", [id])).length === 0;
  return { control, sql, creating, end, meaningOf, isGone };
};

test("a creation that came to nothing gives its slug back, to the project that had it before if there is one", async (context) => {
  const { sql, creating, end, meaningOf, isGone } = await start(context);
  const earlier = await creating("again", "earlier");
  await sql("update projects set state = 'destroyed' where id = $1", [earlier]);
  const [again, fresh] = [await creating("again"), await creating("fresh")];
  assert.equal(await meaningOf("again"), again);
  for (const id of [again, fresh]) await end(id);
  await until("both are gone", async () => (await isGone(again)) && (await isGone(fresh)));
  assert.deepEqual([await meaningOf("again"), await meaningOf("fresh")], [earlier, undefined]);
});

test("a creation whose last commit is still on its way is not taken back", async (context) => {
  const { control, sql, creating, end, meaningOf } = await start(context);
  const id = await creating("coming");
  const deploying = new pg.Client({ connectionString: control.databaseUrl });
  await deploying.connect();
  try {
    await deploying.query("begin");
    await deploying.query("update projects set state = 'living' where id = $1", [id]);
    await end(id);
    await until("control waits for it", async () => {
      const rows = await sql("select from pg_locks where not granted");
      return rows.length > 0;
    });
    await deploying.query("commit");
  } finally {
    await deploying.end();
  }
  await until("nobody waits", async () => (await sql("select from pg_locks where not granted")).length === 0);
  assert.equal(await meaningOf("coming"), id);
  assert.equal((await sql("select state from projects where id = $1", [id]))[0]?.["state"], "living");
});
