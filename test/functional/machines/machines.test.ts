import assert from "node:assert/strict";
import { test } from "node:test";
import { useRest } from "../../support/rest.ts";

const rest = useRest();
const { ask } = rest;
const exec = (computer: string, body: Readonly<Record<string, unknown>>) =>
  ask("POST", `/v1/computers/${computer}/exec`, body);
const exitCode = (body: Readonly<Record<string, unknown>>) =>
  (body["process"] as Readonly<Record<string, unknown>>)["exit_code"];

test("a computer is created, runs a command, sleeps, wakes, stops and is destroyed", async () => {
  const created = await ask("POST", "/v1/computers", { name: "one", environment: { COLOUR: "green" } });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  assert.equal(created.body["state"], "awake");
  const ran = await exec("one", { command: "echo out $COLOUR; echo err >&2; exit 3" });
  assert.equal(ran.body["stdout"], "out green\n", JSON.stringify(ran.body));
  assert.equal(ran.body["stderr"], "err\n");
  assert.equal(exitCode(ran.body), 3);
  const asleep = await ask("POST", "/v1/computers/one/sleep", {});
  assert.equal(asleep.body["state"], "asleep", JSON.stringify(asleep.body));
  assert.equal(exitCode((await exec("one", { argv: ["/bin/true"] })).body), 0);
  const stopped = await ask("POST", "/v1/computers/one/stop", {});
  assert.equal(stopped.body["state"], "stopped", JSON.stringify(stopped.body));
  assert.equal((await ask("POST", "/v1/computers/one/sleep", {})).status, 409);
  assert.equal(exitCode((await exec("one", { command: "kill -9 $$" })).body), 137);
  const destroyed = await ask("DELETE", "/v1/computers/one");
  assert.equal(destroyed.body["state"], "destroyed", JSON.stringify(destroyed.body));
  assert.equal((await ask("GET", "/v1/computers/one")).status, 404);
  assert.equal((await ask("GET", `/v1/computers/${String(created.body["id"])}`)).body["state"], "destroyed");
});

test("the same idempotency key, also at once, makes one computer; a taken name and a stale version are refused", async () => {
  const headers = { "idempotency-key": '"make-two"' };
  const both = await Promise.all([1, 2].map(() => ask("POST", "/v1/computers", { name: "two" }, headers)));
  const again = await ask("POST", "/v1/computers", { name: "two" }, headers);
  assert.equal(again.status, 201, JSON.stringify(again.body));
  for (const reply of both)
    if (reply.status === 201) assert.equal(reply.body["id"], again.body["id"]);
    else assert.equal(reply.body["code"], "operation_running");
  const other = await ask("POST", "/v1/computers", { name: "other" }, headers);
  assert.equal(other.status, 422);
  assert.equal((await ask("POST", "/v1/computers", { name: "two" })).body["code"], "name_taken");
  const stale = await ask("PATCH", "/v1/computers/two", { description: "x" }, { "if-match": '"99"' });
  assert.equal(stale.status, 412);
  await ask("DELETE", "/v1/computers/two");
  const reused = await ask("POST", "/v1/computers", { name: "two" });
  assert.equal(reused.status, 201, JSON.stringify(reused.body));
  await ask("DELETE", "/v1/computers/two");
});

test("a larger size takes effect at once", async () => {
  await ask("POST", "/v1/computers", { name: "grows" });
  const { body } = await ask("GET", "/v1/computers/grows");
  const grown = await ask(
    "PATCH",
    "/v1/computers/grows",
    { size: "medium" },
    { "if-match": `"${String(body["version"])}"` },
  );
  assert.equal(grown.body["size"], "medium", JSON.stringify(grown.body));
  const usage = await ask("GET", "/v1/computers/grows/usage");
  assert.equal(usage.body["memory_limit_bytes"], 4 * 1024 ** 3, JSON.stringify(usage.body));
  await ask("DELETE", "/v1/computers/grows");
});

test("a process of a computer that is stopped ends as lost or by its signal, and is told of", async () => {
  await ask("POST", "/v1/computers", { name: "ends" });
  const started = await ask("POST", "/v1/computers/ends/processes", { argv: ["sleep", "1000"] });
  await ask("POST", "/v1/computers/ends/stop", {});
  const ended = await ask("GET", `/v1/computers/ends/processes/${String(started.body["id"])}`);
  assert.equal(ended.body["state"], "ended", JSON.stringify(ended.body));
  assert.notEqual(ended.body["exit_code"], 0);
  await ask("DELETE", "/v1/computers/ends");
});
