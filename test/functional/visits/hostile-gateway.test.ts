import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { controlGatewayMethods, controlLauncherMethods, limits } from "@holdfast/contract";
import { createRpcClient, systemClock } from "@holdfast/kit";
import { call } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { startVisiting, type Visiting } from "../../support/visits.ts";

const postgres = usePostgres();

/** One message as it is on the socket; answers the code it is refused with, or `ended`. */
const send = async (path: string, message: unknown): Promise<string> => {
  const socket = connect(path);
  socket.on("error", () => {});
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  socket.write(Buffer.concat([head, body]));
  const first = await Promise.race([once(socket, "data"), once(socket, "close").then(() => [])]);
  socket.destroy();
  const [answer] = first as Buffer[];
  if (!answer) return "ended";
  const { error } = JSON.parse(answer.toString("utf8", 4)) as { error?: { code: string } };
  return error?.code ?? "answered";
};

/** How long the API takes to say who somebody is, past its memory of keys. */
const apiAnswers = async ({ control, owner }: Visiting): Promise<void> => {
  const reply = await call(control.url, owner, "GET", "/v1/projects");
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
};

test("its socket offers its own messages and nothing else, each as the contract has it", async (context) => {
  const { socketPath, project } = await startVisiting(context, postgres);
  const id = await project("shop");
  const others = [...Object.keys(controlLauncherMethods), "project.publish", "project.open", "key.list"];
  for (const method of [...others, "constructor", "__proto__", "toString", ""])
    assert.equal(await send(socketPath, { id: 1, method, params: {} }), "not_found", method);
  const find = { project_id: id, kind: "cookie", token: "x" };
  const wrong: readonly [string, unknown][] = [
    ["right.find", { ...find, project_id: "cmp_00000000000000000000" }],
    ["right.find", { ...find, project_id: `${id}' or true --` }],
    ["right.find", { ...find, kind: "ticket" }],
    ["right.find", { ...find, token: "x".repeat(201) }],
    ["right.find", { ...find, token: { like: "%" } }],
    ["right.trade", { ...find, kind: "cookie" }],
    ["right.hold", { ids: Array.from({ length: limits.rightsPerCheck + 1 }, () => "x") }],
    ["right.hold", { ids: ["x".repeat(121)] }],
    ["routes.watch", { after: -1, wait_ms: 0 }],
    ["routes.watch", { after: 0, wait_ms: limits.waitMs + 1 }],
    ["project.wake", { project_id: id, right_id: null, wait_ms: -1 }],
    ["project.wake", { project_id: id, wait_ms: 0 }],
    ["access.record", { records: [{ project_id: id }] }],
  ];
  for (const [method, params] of wrong)
    assert.equal(await send(socketPath, { id: 1, method, params }), "invalid_input", JSON.stringify(params));
  assert.equal(await send(socketPath, { id: -1, method: "right.find", params: find }), "ended");
  assert.equal(await send(socketPath, "x"), "ended");
  assert.equal(await send(socketPath, { id: 1, method: "right.find", params: find }), "answered");
});

test("however much it asks at once, what it may hold is bounded and the API goes on", async (context) => {
  const visiting = await startVisiting(context, postgres);
  const { socketPath, project, gateway, control } = visiting;
  const id = await project("shop");
  const clients = [1, 2, 3].map(() =>
    createRpcClient({ path: socketPath, methods: controlGatewayMethods, clock: systemClock }),
  );
  const { next } = await gateway.call("routes.watch", { after: 0, wait_ms: 0 });
  const codes = new Map<string, number>();
  const count = (code: string): void => void codes.set(code, (codes.get(code) ?? 0) + 1);
  const ask = clients.flatMap((client) =>
    Array.from({ length: 300 }, () =>
      client.call("routes.watch", { after: next, wait_ms: 3000 }).then(
        () => count("answered"),
        (error: unknown) => count((error as { code: string }).code),
      ),
    ),
  );
  await until("it is told of the first that are too many", () => codes.has("limit_reached"));
  await apiAnswers(visiting);
  assert.ok(!codes.has("answered"), "those that it let in wait still");
  await Promise.all(ask);
  assert.deepEqual([...codes.keys()].sort(), ["answered", "limit_reached"]);
  assert.ok((codes.get("answered") ?? 0) <= 513, JSON.stringify([...codes]));

  codes.clear();
  const record = {
    project_id: id,
    at_ms: 0,
    port: null,
    method: "GET",
    path: `/${"x".repeat(1000)}`,
    status: 200,
    received_bytes: 0,
    sent_bytes: 0,
    duration_ms: 0,
    subject: null,
  };
  const records = Array.from({ length: limits.accessRecordsPerBatch }, () => record);
  const batches = clients.flatMap((client) =>
    Array.from({ length: 20 }, () =>
      client.call("access.record", { records }).then(
        () => count("answered"),
        (error: unknown) => count((error as { code: string }).code),
      ),
    ),
  );
  await apiAnswers(visiting);
  await Promise.all(batches);
  assert.ok((codes.get("unavailable") ?? 0) > 0, JSON.stringify([...codes]));
  assert.deepEqual([...codes.keys()].sort(), ["answered", "unavailable"]);
  for (const client of clients) client.close();
  assert.equal((await call(control.url, visiting.owner, "GET", `/v1/projects/${id}/access`)).status, 200);
});
