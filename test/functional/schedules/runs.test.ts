import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HoldfastError, limits } from "@holdfast/contract";
import { call } from "../../support/control.ts";
import { playSchedules } from "../../support/played-schedules.ts";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();
type Run = Readonly<Record<string, unknown>>;
const states = (runs: readonly Run[]): readonly unknown[] => runs.map(({ state }) => state);

describe("a slot while the run before goes on", () => {
  test("is skipped, waits for the other's end, or ends the other", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const often = { every_ms: 60_000, command: "hang" };
    const skip = await played.make({ name: "skip", overlap: "skip", ...often });
    const queue = await played.make({ name: "queue", overlap: "queue", ...often });
    const replace = await played.make({ name: "replace", overlap: "replace", ...often });
    for (let slot = 1; slot <= 3; slot += 1) {
      played.clock.leap(60_000);
      for (const { id } of [skip, queue, replace])
        await until("it has come", async () => (await played.runs(id)).length === slot);
      await played.untilRuns(replace.id, slot - 1, "cancelled");
      await played.untilRuns(replace.id, 1, "running");
    }
    await until("one of each runs", async () =>
      (await Promise.all([skip, queue, replace].map(async ({ id }) => played.runs(id)))).every((runs) =>
        runs.some(({ state }) => state === "running"),
      ),
    );
    const skipped = await played.runs(skip.id);
    assert.deepEqual(states(skipped), ["running", "skipped", "skipped"]);
    assert.match(String(skipped[1]?.["reason"]), /still goes on/);
    assert.deepEqual(states(await played.runs(queue.id)), ["running", "queued", "queued"]);
    const replaced = await played.runs(replace.id);
    assert.deepEqual(states(replaced), ["cancelled", "cancelled", "running"]);
    assert.deepEqual(replaced[0]?.["exit"], { kind: "signaled", signal: 15, name: "TERM" });

    // By hand: beside what goes on, but where runs queue.
    const manual = await played.ask("POST", `/v1/schedules/${skip.id}/run`, { wait_ms: 0 });
    await until(
      "it runs beside",
      async () => states(await played.runs(skip.id)).filter((state) => state === "running").length === 2,
    );
    const inLine = await played.ask("POST", `/v1/schedules/${queue.id}/run`, { wait_ms: 0 });
    assert.equal(inLine.body["state"], "queued");
    for (let turn = 0; turn < 4; turn += 1) {
      const [going] = await played.untilRuns(queue.id, 1, "running");
      const before = states(await played.runs(queue.id)).filter((state) => state === "succeeded").length;
      assert.equal(before, turn, "one after the other");
      played.cells.end(String(going?.["process"]), 0);
      await played.untilRuns(queue.id, turn + 1, "succeeded");
    }
    const cancelled = await played.ask("POST", `/v1/runs/${String(manual.body["id"])}/cancel`, {});
    assert.deepEqual([cancelled.status, cancelled.body["state"]], [200, "cancelled"]);
    assert.match(String(cancelled.body["reason"]), /cancelled by claude/);
    assert.equal((await played.ask("POST", `/v1/runs/${String(manual.body["id"])}/cancel`, {})).status, 200);
  });
});

describe("failures", () => {
  test("a run is tried again within its retries, ever later, and its time-out is said", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const fields = { event: true, retries: 2, retry_backoff_ms: 60_000, retries_per_day: 3 };
    const { id } = await played.make({ name: "fails", command: "exit 7", ...fields });
    const first = await played.ask("POST", `/v1/schedules/${id}/run`, { wait_ms: 0 });
    const run = String(first.body["id"]);
    const look = async (): Promise<Run> => (await played.ask("GET", `/v1/runs/${run}`)).body;
    for (const [attempt, waitMs] of [
      [1, 60_000],
      [2, 120_000],
    ] as const) {
      await until("it waits", async () => {
        const now = await look();
        return now["state"] === "waiting_to_retry" && now["attempt"] === attempt;
      });
      played.clock.leap(waitMs - 5_000);
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal((await look())["state"], "waiting_to_retry", "not before its time");
      played.clock.leap(5_000);
    }
    const [failed] = await played.untilRuns(id, 1, "failed");
    assert.deepEqual([failed?.["attempt"], failed?.["exit"]], [3, { kind: "exited", code: 7 }]);
    assert.equal(played.cells.processes.size, 3, "each attempt is a process of its own");
    // One is left of the day's budget of three.
    const second = await played.ask("POST", `/v1/schedules/${id}/run`, { wait_ms: 0 });
    await until("it waits", async () => {
      const now = (await played.ask("GET", `/v1/runs/${String(second.body["id"])}`)).body;
      return now["state"] === "waiting_to_retry";
    });
    played.clock.leap(60_000);
    await played.untilRuns(id, 2, "failed");
    assert.equal((await played.runs(id))[1]?.["attempt"], 2);

    const late = await played.make({ name: "late", command: "hang", event: true, timeout_ms: 5000 });
    const slow = await played.ask("POST", `/v1/schedules/${late.id}/run`, { wait_ms: 0 });
    await played.untilRuns(late.id, 1, "running");
    played.clock.leap(5000);
    const [ended] = await played.untilRuns(late.id, 1, "failed");
    assert.deepEqual([ended?.["id"], ended?.["timed_out"]], [slow.body["id"], true]);
    assert.match(String(ended?.["reason"]), /longer than 5000 ms/);
  });

  test("what cannot be reached is tried again; what is refused, or has failed, is said", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    let refusals = 3;
    played.cells.before = () => {
      refusals -= 1;
      if (refusals >= 0) throw new HoldfastError("host_full", "no room", {});
    };
    const { id } = await played.make({ name: "later", event: true });
    const ran = await played.ask("POST", `/v1/schedules/${id}/run`, { wait_ms: 20_000 });
    assert.equal(ran.body["state"], "succeeded", JSON.stringify(ran.body));
    assert.equal(played.cells.processes.size, 1);

    await played.computer("broken", "failed");
    const broken = await played.make({ computer: "broken", name: "on-broken", event: true });
    const failed = await played.ask("POST", `/v1/schedules/${broken.id}/run`, {});
    assert.deepEqual(
      [failed.body["state"], failed.body["process"], failed.body["exit"]],
      ["failed", null, null],
    );
    assert.match(String(failed.body["reason"]), /failed/);

    // A host that stays full: not for ever.
    played.cells.before = () => {
      throw new HoldfastError("host_full", "no room", {});
    };
    const full = await played.ask("POST", `/v1/schedules/${id}/run`, { wait_ms: 0 });
    await until("it is given up", async () => {
      played.clock.leap(60_000);
      const now = (await played.ask("GET", `/v1/runs/${String(full.body["id"])}`)).body;
      return now["state"] === "failed" && /15 minutes.*no room/.test(String(now["reason"]));
    });
  });
});

describe("control ends in between", () => {
  test("what runs is found again, what waits goes on, and nothing runs twice", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const hang = await played.make({ name: "hang", command: "hang", event: true, overlap: "queue" });
    const quick = await played.make({ name: "quick", every_ms: 1000, overlap: "queue" });
    for (let count = 0; count < 3; count += 1)
      await played.ask("POST", `/v1/schedules/${hang.id}/run`, { wait_ms: 0 });
    for (let round = 0; round < 4; round += 1) {
      await played.untilRuns(hang.id, 1, "running");
      await played.control.restart();
      played.clock.leap(1000);
      const [going] = await played.untilRuns(hang.id, 1, "running");
      const process = String(going?.["process"]);
      if (round === 0) continue;
      played.cells.end(process, 0);
      await played.untilRuns(hang.id, round, "succeeded");
    }
    const runs = await played.settled(quick.id);
    assert.deepEqual(
      states(runs),
      runs.map(() => "succeeded"),
    );
    const times = runs.map(({ slot }) => Date.parse(String(slot)));
    assert.deepEqual(
      times,
      times.map((_, index) => (times[0] ?? 0) + 1000 * index),
      "each slot once, none left out",
    );
    const started = [...played.cells.processes.values()].map(({ spec }) => spec.env["HOLDFAST_RUN"]);
    assert.equal(new Set(started).size, started.length, "each run was started once");
    assert.equal(started.length, runs.length + 3);
  });

  test("a run whose computer stopped meanwhile is not taken for a good one", async (context) => {
    const played = await playSchedules(context, postgres);
    const computer = await played.computer("box");
    const { id } = await played.make({ name: "hang", command: "hang", event: true });
    await played.ask("POST", `/v1/schedules/${id}/run`, { wait_ms: 0 });
    await played.untilRuns(id, 1, "running");
    await played.sql(
      "update computers set state = 'stopped', desired_state = 'stopped', cell_id = null where id = $1",
      [computer],
    );
    await played.control.restart();
    const [run] = await played.untilRuns(id, 1, "failed");
    assert.deepEqual(run?.["exit"], { kind: "lost" });
  });
});

describe("events", () => {
  test("who has the key starts a run, with what it carries; all else is answered alike", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const made = await played.make({ name: "hook", event: true });
    const key = String(made["event_key"]);
    assert.match(key, /^hfe_[A-Za-z0-9_-]{43}$/);
    assert.equal(made["run_address"], `http://127.0.0.1:7300/v1/schedules/${made.id}/fire`);
    const fire = (token: string | undefined, body: unknown, headers = {}, schedule = made.id) =>
      call(played.control.url, token, "POST", `/v1/schedules/${schedule}/fire`, body, headers);
    const wrong = await Promise.all([
      fire(`hfe_${"A".repeat(43)}`, {}),
      fire(key, {}, {}, `sch_${"0".repeat(20)}`),
      fire(played.key.secret, {}),
      fire(undefined, {}),
      fire(undefined, { key: "hfe_" }),
    ]);
    for (const reply of wrong)
      assert.deepEqual(
        [reply.status, reply.body["code"], reply.body["detail"]],
        [401, "unauthenticated", wrong[0]?.body["detail"]],
      );
    assert.deepEqual(await played.runs(made.id), []);

    const carried = async (body: unknown, token: string | undefined = key): Promise<string> => {
      const reply = await fire(token, body);
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      const run = await played.ask("GET", `/v1/runs/${String(reply.body["run"])}?wait_ms=10000`);
      assert.deepEqual(
        [run.body["state"], run.body["cause"], run.body["slot"]],
        ["succeeded", "event", null],
      );
      const { spec } = played.cells.processes.get(String(run.body["process"])) ?? {};
      const stdin = spec?.stdin;
      return typeof stdin === "object" ? Buffer.from(stdin.base64, "base64").toString() : String(stdin);
    };
    assert.equal(await carried({ payload: { colour: "green" } }), '{"colour":"green"}');
    // A stranger's own body.
    assert.equal(await carried({ action: "opened", number: 3 }), '{"action":"opened","number":3}');
    assert.equal(await carried([1, 2]), "[1,2]");
    assert.equal(await carried({ key, payload: "ü" }, undefined), '"ü"');
    // A client of ours sends its own key with everything.
    assert.equal(await carried({ key }, played.key.secret), "closed");

    const once = { "idempotency-key": '"delivery-1"' };
    const [one, two] = [await fire(key, { payload: 1 }, once), await fire(key, { payload: 1 }, once)];
    assert.equal(one.body["run"], two.body["run"]);
    assert.equal((await fire(key, { payload: 2 }, once)).status, 422);
    const other = await played.make({ name: "other", event: true });
    const elsewhere = await fire(String(other["event_key"]), { payload: 2 }, once, other.id);
    assert.equal(elsewhere.status, 200, "another schedule's deliveries have keys of their own");

    assert.equal((await fire(key, { payload: "x".repeat(70_000) })).status, 413);
    await played.ask("POST", `/v1/schedules/${made.id}/pause`, {});
    assert.equal((await fire(key, {})).body["state"], "skipped");
    await played.ask("POST", `/v1/schedules/${made.id}/resume`, {});
    assert.equal((await fire(key, {})).body["state"], "queued");
    const stored = await played.sql("select * from schedules where id = $1", [made.id]);
    assert.ok(!JSON.stringify(stored).includes(key));
    assert.ok(!JSON.stringify((await played.ask("GET", `/v1/schedules/${made.id}`)).body).includes(key));
    await played.ask("DELETE", `/v1/schedules/${made.id}`);
    assert.equal((await fire(key, {})).status, 401);
  });

  test("who tries keys is counted by network, and shuts out nobody who has one", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const made = await played.make({ name: "hook", event: true });
    const fire = (key: string) =>
      call(played.control.url, key, "POST", `/v1/schedules/${made.id}/fire`, {}).then(({ status }) => status);
    assert.equal(await fire(String(made["event_key"])), 200);
    const seen = new Map<number, number>();
    const began = performance.now();
    // A slow machine lets more through, for the bucket is filled again meanwhile.
    for (let round = 0; round < 200 && !seen.has(429); round += 1) {
      const keys = Array.from(
        { length: 20 },
        (_, index) => `hfe_${String(round * 20 + index).padStart(43, "0")}`,
      );
      for (const status of await Promise.all(keys.map(fire))) seen.set(status, (seen.get(status) ?? 0) + 1);
    }
    const refilled =
      ((performance.now() - began) / limits.unknownCredentialsWindowMs) * limits.unknownCredentialsPerWindow;
    const said = `${JSON.stringify([...seen])}, ${refilled.toFixed(0)} refilled`;
    assert.deepEqual(
      [...seen.keys()].toSorted((a, b) => a - b),
      [401, 429],
      said,
    );
    const unknown = seen.get(401) ?? 0;
    assert.ok(unknown >= 290 && unknown <= limits.unknownCredentialsPerWindow + refilled + 1, said);
    assert.equal(await fire(String(made["event_key"])), 200);
  });

  test("what a revoked key has scheduled is skipped, and another key of the assistant takes it up", async (context) => {
    const played = await playSchedules(context, postgres);
    await played.computer("box");
    const slots = await played.make({ name: "slots", every_ms: 60_000 });
    const hook = await played.make({ name: "hook", event: true });
    await call(played.control.url, played.owner, "DELETE", `/v1/keys/${played.key.id}`);
    played.clock.leap(60_000);
    const look = async (id: string): Promise<readonly Run[]> =>
      (await call(played.control.url, played.owner, "GET", `/v1/runs?schedule=${id}`)).body["runs"] as Run[];
    await until("the slot has come", async () => (await look(slots.id)).length > 0);
    const [skipped] = await look(slots.id);
    assert.equal(skipped?.["state"], "skipped");
    assert.match(String(skipped?.["reason"]), /revoked/);
    const address = `/v1/schedules/${hook.id}/fire`;
    const fire = () => call(played.control.url, String(hook["event_key"]), "POST", address, {});
    assert.equal((await fire()).body["state"], "skipped");
    const again = await call(played.control.url, played.owner, "POST", "/v1/keys", { name: "claude" });
    assert.equal(again.status, 201, JSON.stringify(again.body));
    assert.equal((await fire()).body["state"], "queued");
    played.clock.leap(60_000);
    await until("it runs again", async () =>
      (await look(slots.id)).some(({ state }) => state === "succeeded"),
    );
  });
});

test("another assistant sees neither schedules nor runs; an owner sees all", async (context) => {
  const played = await playSchedules(context, postgres);
  await played.computer("box");
  const { id } = await played.make({ name: "mine", event: true });
  const run = await played.ask("POST", `/v1/schedules/${id}/run`, {});
  const other = await call(played.control.url, played.owner, "POST", "/v1/keys", { name: "other" });
  const secret = String(other.body["secret"]);
  for (const [method, path] of [
    ["GET", `/v1/schedules/${id}`],
    ["PATCH", `/v1/schedules/${id}`],
    ["DELETE", `/v1/schedules/${id}`],
    ["POST", `/v1/schedules/${id}/run`],
    ["POST", `/v1/schedules/${id}/pause`],
    ["GET", `/v1/runs/${String(run.body["id"])}`],
    ["GET", `/v1/runs/${String(run.body["id"])}/output`],
    ["POST", `/v1/runs/${String(run.body["id"])}/cancel`],
    ["GET", `/v1/schedule-preview?schedule=${id}`],
    ["GET", `/v1/runs?schedule=${id}`],
  ] as const) {
    const reply = await call(
      played.control.url,
      secret,
      method,
      path,
      method === "GET" || method === "DELETE" ? undefined : {},
    );
    assert.equal(reply.status, 404, `${method} ${path}: ${JSON.stringify(reply.body)}`);
  }
  const lists = await call(played.control.url, secret, "GET", "/v1/schedules");
  assert.deepEqual(lists.body["schedules"], []);
  assert.deepEqual((await call(played.control.url, secret, "GET", "/v1/runs")).body["runs"], []);
  assert.equal((await call(played.control.url, played.owner, "GET", `/v1/schedules/${id}`)).status, 200);
  const byName = await played.ask("GET", "/v1/schedules/mine?computer=box");
  assert.equal(byName.body["id"], id);
  assert.equal((await played.ask("GET", "/v1/schedules/mine")).status, 400);
  assert.equal(
    (
      await played.ask("POST", "/v1/schedules", {
        computer: "box",
        name: "mine",
        command: "true",
        event: true,
      })
    ).status,
    409,
  );
});

test("a preview says slots in UTC and in local time, and makes nothing", async (context) => {
  const played = await playSchedules(context, postgres);
  await played.computer("box");
  const ask = async (query: string) => played.ask("GET", `/v1/schedule-preview?${query}`);
  const daily = await ask(`cron=${encodeURIComponent("30 2 * * *")}&time_zone=Europe/Berlin&count=400`);
  assert.equal(daily.status, 400, "not so many");
  const year = await ask(`cron=${encodeURIComponent("30 2 * * 0")}&time_zone=Europe/Berlin&count=50`);
  const slots = year.body["slots"] as { at: string; local: string }[];
  assert.equal(slots.length, 50);
  assert.ok(slots.every(({ local }) => /T0[23]:/.test(local)));
  assert.ok(slots.every(({ at, local }) => Date.parse(at) === Date.parse(local)));
  const made = await played.make({ name: "every", every_ms: 60_000 });
  const of = await ask(`schedule=${made.id}&count=2`);
  assert.equal((of.body["slots"] as { at: string }[])[0]?.at, made["next_slot"]);
  for (const bad of [
    "",
    "cron=x",
    "every_ms=5",
    `schedule=${made.id}&every_ms=5000`,
    "every_ms=5000&time_zone=Nowhere",
  ])
    assert.equal((await ask(bad)).status, 400, bad);
  assert.deepEqual(await played.runs(made.id), []);
});
