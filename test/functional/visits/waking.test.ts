import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type ControlGatewayMethods, controlGatewayMethods, socketPath } from "@holdfast/contract";
import { createRpcClient, type RpcClient, systemClock } from "@holdfast/kit";
import { call } from "../../support/control.ts";
import { useRest } from "../../support/rest.ts";
import { until } from "../../support/until.ts";

describe("waking", () => {
  const rest = useRest();
  const { ask } = rest;
  let gateway: RpcClient<ControlGatewayMethods>;
  let owner = "";
  let project = "";
  let right = "";

  before(async () => {
    const instance = await rest.instance;
    owner = await instance.ownerToken();
    gateway = createRpcClient({
      path: socketPath(instance.name, "control", "gateway"),
      methods: controlGatewayMethods,
      clock: systemClock,
    });
    assert.equal((await ask("POST", "/v1/computers", { name: "box" })).status, 201);
    const made = await ask("POST", "/v1/projects", {
      computer: "box",
      name: "site",
      template: "static-site",
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    project = String(made.body["id"]);
    const found = await gateway.call("right.find", {
      project_id: project,
      kind: "header",
      token: rest.secret,
    });
    right = found.right?.id ?? "";
  });
  after(() => gateway.close());

  const stateOfBox = async (): Promise<unknown> => (await ask("GET", "/v1/computers/box")).body["state"];
  const change = async (verb: "stop" | "sleep", state: string): Promise<void> => {
    assert.equal((await ask("POST", `/v1/computers/box/${verb}`, {})).body["state"], state);
  };
  const wake = (rightId: string | null, waitMs = 30_000) =>
    gateway.call(
      "project.wake",
      { project_id: project, right_id: rightId, wait_ms: waitMs },
      { timeoutMs: 40_000 },
    );
  const publish = async (verb: "publish" | "unpublish"): Promise<void> => {
    const reply = await call(rest.url, owner, "POST", `/v1/projects/${project}/${verb}`, {});
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
  };

  test("a private project is woken by a right, and by nobody else", async () => {
    await change("stop", "stopped");
    assert.equal((await wake(null)).state, "refused");
    assert.equal((await wake("vis_00000000000000000000@" + project)).state, "refused");
    assert.equal(await stateOfBox(), "stopped");
    assert.deepEqual(await wake(right), { state: "ready", retry_after_ms: 0, reason: null, log: null });
    await until("its row says so", async () => (await stateOfBox()) === "awake");
  });

  test("a published one is woken by everyone: asleep, stopped, or its service alone stopped", async () => {
    await publish("publish");
    for (const [verb, state] of [
      ["sleep", "asleep"],
      ["stop", "stopped"],
    ] as const) {
      await change(verb, state);
      const answers = await Promise.all([wake(null), wake(null), wake(right)]);
      assert.deepEqual(
        answers.map((answer) => answer.state),
        ["ready", "ready", "ready"],
        state,
      );
      // A visit waits for the cell, not for what is written down of it.
      await until("its row says so", async () => (await stateOfBox()) === "awake");
    }
    const stopped = await ask("POST", "/v1/computers/box/services/site-web/stop", {});
    assert.equal(stopped.body["state"], "stopped", JSON.stringify(stopped.body));
    assert.equal((await wake(null)).state, "ready");
    await publish("unpublish");
    assert.equal((await wake(null)).state, "refused");
  });

  test("what is asked for right after a visit is answered when it is so", async () => {
    for (let round = 0; round < 10; round += 1) {
      await change("sleep", "asleep");
      assert.equal((await wake(right)).state, "ready");
      await change("stop", "stopped");
      assert.equal((await wake(right)).state, "ready");
    }
  });

  test("who has no patience hears that it starts, and finds it started", async () => {
    await change("stop", "stopped");
    assert.equal((await wake(right, 0)).state, "starting");
    assert.equal((await wake(right)).state, "ready");
  });

  const deployWith = async (restart: Readonly<Record<string, unknown>>): Promise<void> => {
    const { body } = await ask("GET", `/v1/projects/${project}`);
    const definition = {
      services: [{ name: "web", command: "echo last words; exit 7", port: 8080, restart }],
      web: "web",
    };
    const updated = await ask(
      "PATCH",
      `/v1/projects/${project}`,
      { definition },
      { "if-match": `"${String(body["version"])}"` },
    );
    assert.equal(updated.status, 200, JSON.stringify(updated.body));
    const deployed = await ask("POST", `/v1/projects/${project}/deploy`, {});
    assert.equal(deployed.status, 200, JSON.stringify(deployed.body));
  };

  test("one that ends by itself says its last words, to those who can mend it", async () => {
    await deployWith({ policy: "on_failure", min_backoff_ms: 100, max_backoff_ms: 200, limit: 1 });
    await publish("publish");
    const told = await wake(right);
    assert.equal(told.state, "failed", JSON.stringify(told));
    assert.match(told.log ?? "", /last words\n/);
    assert.deepEqual(await wake(null), { ...told, reason: null, log: null });
  });

  test("one that is started again whenever it ends is not starting for ever", async () => {
    await deployWith({});
    const told = await wake(right, 10_000);
    assert.equal(told.state, "failed", JSON.stringify(told));
    assert.match(told.reason ?? "", /^It ended by itself [0-9]+ times: exited with code 7\.$/);
    assert.match(told.log ?? "", /last words\n/);
    const visitor = await wake(null, 10_000);
    assert.deepEqual([visitor.state, visitor.reason, visitor.log], ["failed", null, null]);
    const { body } = await ask("GET", `/v1/projects/${project}`);
    const [service] = body["services"] as { state: string; reason: string | null }[];
    assert.ok(service?.state !== "backoff" || service.reason === "exited with code 7", service?.reason ?? "");
  });

  test("a project that is destroyed is not there, and no right on it holds", async () => {
    assert.deepEqual((await gateway.call("right.hold", { ids: [right] })).held, [right]);
    assert.equal((await ask("DELETE", `/v1/projects/${project}`)).status, 200);
    await assert.rejects(wake(right), { code: "not_found" });
    assert.deepEqual((await gateway.call("right.hold", { ids: [right] })).held, []);
  });
});
