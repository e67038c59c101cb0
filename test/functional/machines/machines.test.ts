import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startMachines } from "../../support/machines.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

test("a computer is created, runs a command, sleeps, wakes, stops and is destroyed", async (context) => {
  const { ask, exec } = await startMachines(context, postgres);
  const created = await ask("POST", "/v1/computers", { name: "one", environment: { COLOUR: "green" } });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  assert.equal(created.body["state"], "awake");
  const ran = await exec("one", { command: "echo out $COLOUR; echo err >&2; exit 3", cwd: "/tmp" });
  assert.equal(ran.status, 200, JSON.stringify(ran.body));
  assert.equal(ran.body["stdout"], "out green\n");
  assert.equal(ran.body["stderr"], "err\n");
  assert.equal((ran.body["process"] as Record<string, unknown>)["exit_code"], 3);
  const asleep = await ask("POST", "/v1/computers/one/sleep", {});
  assert.equal(asleep.body["state"], "asleep", JSON.stringify(asleep.body));
  const woke = await exec("one", { argv: ["/bin/true"], cwd: "/tmp" });
  assert.equal((woke.body["process"] as Record<string, unknown>)["exit_code"], 0, JSON.stringify(woke.body));
  const stopped = await ask("POST", "/v1/computers/one/stop", {});
  assert.equal(stopped.body["state"], "stopped", JSON.stringify(stopped.body));
  const again = await exec("one", { command: "kill -9 $$", cwd: "/tmp" });
  assert.equal(
    (again.body["process"] as Record<string, unknown>)["exit_code"],
    137,
    JSON.stringify(again.body),
  );
  const destroyed = await ask("DELETE", "/v1/computers/one");
  assert.equal(destroyed.body["state"], "destroyed", JSON.stringify(destroyed.body));
  assert.equal((await ask("GET", "/v1/computers/one")).status, 404);
});
