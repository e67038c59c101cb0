import assert from "node:assert/strict";
import { test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import { until } from "../support/until.ts";
import { visit } from "../support/visit.ts";
import { playVisits } from "./addresses/play.ts";

const instance = await usePrivateInstance("visits");
const assistant = await instance.assistant();

test("nobody is answered with another project's bytes while gateway and apps are killed", (context) =>
  playVisits(context, { instance, assistant }, { projects: 22, requests: 20_000, strikes: 6 }));

test("while control is away published addresses go on, private ones fail closed, and it all comes back", async () => {
  const open = "ta-a";
  const shut = "ta-b";
  const headers = { "holdfast-key": assistant.secret };
  await assistant.client.projects.unpublish({ project: shut });
  await until("the private one is shut", async () => (await visit(instance, shut)).status === 404);
  const ask = { path: "/", headers: { ...headers, "x-tag": "tag-1" } };
  assert.equal((await visit(instance, shut, ask)).status, 200, "the key opens it");
  const { control, launcher } = await instance.programs();
  assert.ok(control?.pid && launcher?.pid);
  // Nobody starts control again before `up` does.
  process.kill(launcher.pid, "SIGKILL");
  process.kill(control.pid, "SIGKILL");
  try {
    await until("the right holds no more", async () => (await visit(instance, shut, ask)).status !== 200, {
      withinMs: 5000,
    });
    for (let round = 0; round < 5; round += 1) {
      assert.notEqual((await visit(instance, shut, ask)).status, 200);
      assert.equal((await visit(instance, shut)).status, 404);
      assert.equal((await visit(instance, open, { headers: { "x-tag": "tag-2" } })).status, 200);
    }
  } finally {
    await instance.up();
  }
  await until("the key opens it again", async () => (await visit(instance, shut, ask)).status === 200);
});
