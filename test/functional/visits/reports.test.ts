import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { createModules } from "../../../packages/control/src/modules.ts";
import type { Machines } from "../../../packages/control/src/operations/machines.ts";
import { call, startWithKey } from "../../support/control.ts";
import { playSupervisor } from "../../support/played-supervisor.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { untilValue } from "../../support/until.ts";
import { insertProject } from "../../support/visits.ts";

const postgres = usePostgres();

test("what gateway reports counts as activity of the computers of those projects, and of no other; who rests is told to it", async (context) => {
  const supervisor = await playSupervisor(context);
  let leapt = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + leapt };
  let machines: Machines | undefined;
  const { control, key } = await startWithKey(context, postgres, {
    supervisor: { instance: "test", socket: supervisor.socket },
    clock,
    modules: (shared) => {
      const made = createModules(shared);
      machines = made.find((module): module is Machines => "computers" in module);
      return made;
    },
  });
  const ask = (method: string, path: string, body?: unknown) =>
    call(control.url, key.secret, method, path, body);
  const sql = (text: string, values: readonly unknown[] = []) => query(control.databaseUrl, text, values);
  const [visited, other] = await Promise.all(
    ["visited", "other"].map(async (name) =>
      String((await ask("POST", "/v1/computers", { name })).body["id"]),
    ),
  );
  assert.ok(visited && other && machines && control.app.visits);
  const { activity } = machines.computers;
  const project = await insertProject(sql, "shop", "asst_one");
  await sql("update projects set computer_id = $1 where id = $2", [visited, project]);
  const report = (...ids: readonly string[]) =>
    control.app.visits?.["visits.report"]({ project_ids: [...ids] }, new AbortController().signal);
  leapt += 60_000;
  await report("prj_00000000000000000009");
  assert.ok(activity.quietMs(visited) >= 60_000);
  await report(project, "prj_00000000000000000009");
  assert.ok(activity.quietMs(visited) < 60_000);
  assert.ok(activity.quietMs(other) >= 60_000);

  const watch = (after: number) =>
    control.app.visits?.["resting.watch"]({ after, wait_ms: 25_000 }, new AbortController().signal);
  const first = await watch(0);
  const waiting = watch(first?.next ?? 0);
  assert.equal((await ask("POST", `/v1/computers/${visited}/sleep`, {})).body["state"], "asleep");
  const told = await waiting;
  assert.deepEqual(told?.computers, [{ computer_id: visited, rests: true }]);
  await ask("POST", `/v1/computers/${visited}/wake`, {});
  assert.deepEqual((await watch(told?.next ?? 0))?.computers, [{ computer_id: visited, rests: false }]);
  // Another control says the same of what sleeps, though it has put none to sleep itself.
  await ask("POST", `/v1/computers/${other}/sleep`, {});
  await control.restart();
  const anew = await untilValue("it has compared computers", async () => {
    const answer = await control.app.visits?.["resting.watch"](
      { after: 0, wait_ms: 0 },
      new AbortController().signal,
    );
    return answer?.computers.length === 0 ? undefined : answer;
  });
  assert.deepEqual(anew.computers, [{ computer_id: other, rests: true }]);
  assert.ok(anew.next > (told?.next ?? 0), "revisions go on over a restart");
});
