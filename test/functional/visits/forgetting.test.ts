import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import { systemClock } from "@holdfast/kit";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { createModules } from "../../../packages/control/src/modules.ts";
import { call } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { startVisiting } from "../../support/visits.ts";

const postgres = usePostgres();

const day = 24 * 3600 * 1000;

test("what opens nothing any more is forgotten, what is listed later, and all about what was destroyed", async (context) => {
  const time = { shiftMs: 0 };
  const clock = { ...systemClock, now: () => Date.now() + time.shiftMs };
  let made: readonly Module[] = [];
  const visiting = await startVisiting(context, postgres, {
    clock,
    modules: (shared) => (made = createModules(shared)),
  });
  const { control, owner, gateway, sql } = visiting;
  const clean = async (): Promise<void> => {
    for (const module of made) await module.clean?.();
  };
  const count = async (): Promise<Readonly<Record<string, number>>> => {
    const tables = ["tickets", "visit_sessions", "shares", "visitor_wakes", "access_records"];
    const counts: [string, number][] = [];
    for (const table of tables)
      counts.push([table, Number((await sql(`select count(*) from ${table}`))[0]?.["count"])]);
    return Object.fromEntries(counts);
  };
  const [gone, staying] = [await visiting.project("gone"), await visiting.project("staying")];
  const fill = async (project: string) => {
    await visiting.ticket(owner, project);
    await visiting.trade("ticket", project, await visiting.ticket(owner, project));
    const share = await visiting.share(project);
    await visiting.trade("share", project, share.token);
    await gateway.call("access.record", {
      records: [
        {
          project_id: project,
          at_ms: 0,
          port: null,
          method: "GET",
          path: "/",
          status: 200,
          received_bytes: 0,
          sent_bytes: 0,
          duration_ms: 0,
          subject: null,
        },
      ],
    });
    await sql("insert into visitor_wakes values ($1, 0, 1)", [project]);
    return share;
  };
  await fill(gone);
  const share = await fill(staying);
  const all = { tickets: 1, visit_sessions: 2, shares: 1, visitor_wakes: 1, access_records: 1 };
  const twice = Object.fromEntries(Object.entries(all).map(([table, rows]) => [table, 2 * rows]));
  assert.deepEqual(await count(), twice);
  await clean();
  assert.deepEqual(await count(), twice);

  await sql("update projects set state = 'destroyed', destroyed_at_ms = $2 where id = $1", [
    gone,
    clock.now(),
  ]);
  await clean();
  assert.deepEqual(await count(), all);

  time.shiftMs = limits.ticketMs;
  await clean();
  assert.deepEqual(await count(), { ...all, tickets: 0 });
  await call(control.url, owner, "DELETE", `/v1/projects/staying/shares/${share.id}`);
  time.shiftMs = limits.visitSessionMs;
  await clean();
  assert.deepEqual(await count(), { ...all, tickets: 0, visit_sessions: 0 });
  time.shiftMs = 29 * day;
  await clean();
  assert.equal((await count())["shares"], 1, "still listed, as revoked");
  time.shiftMs = 32 * day;
  await clean();
  assert.deepEqual(await count(), { ...all, tickets: 0, visit_sessions: 0, shares: 0 });
});
