import assert from "node:assert/strict";
import { test } from "node:test";
import { call, type Reply } from "../../support/control.ts";
import { useInstance } from "../../support/instance.ts";
import { hangMs, until } from "../../support/until.ts";

const instance = await useInstance();

test("whoever waits for a computer when the key is revoked is refused within a second; what runs goes on", async (context) => {
  const assistant = await instance.assistant();
  const owner = await instance.owner();
  const ask = (method: string, path: string, body?: unknown): Promise<Reply> =>
    call(instance.url, assistant.secret, method, path, body);
  const created = await ask("POST", "/v1/computers", { name: "revoked" });
  const box = `/v1/computers/${String(created.body["id"])}`;
  const started = await ask("POST", `${box}/processes`, { command: "sleep 1000" });
  const process = `${box}/processes/${String(started.body["id"])}`;
  await ask("POST", `${box}/services`, { name: "quiet", command: "sleep 1000" });
  const waits = [
    ask("POST", `${box}/exec`, { command: "echo begun > /work/begun; sleep 1000", wait_ms: 50_000 }),
    ask("GET", `${process}?wait_ms=50000`),
    ask("GET", `${process}/output?wait_ms=50000`),
    ask("GET", `${box}/services/quiet/logs?cursor=0&wait_ms=50000`),
    ask("POST", `${box}/services`, {
      name: "never",
      command: "sleep 1000",
      port: 18_999,
      wait_ms: 50_000,
    }),
  ];
  const streams = await Promise.all(
    ["/v1/events", `${process}/follow`, `${box}/files/watch?path=/work`].map((path) =>
      fetch(`${instance.url}${path}`, { headers: { authorization: `Bearer ${assistant.secret}` } }),
    ),
  );
  assert.deepEqual(
    streams.map(({ status }) => status),
    [200, 200, 200],
  );
  const ends = streams.map((stream) => stream.text().catch(() => "broken off"));
  const seen = async (what: string): Promise<unknown> =>
    (await owner.processes.exec({ computer: String(created.body["id"]), command: `cat ${what}` })).stdout;
  await until("the command runs", async () => (await seen("/work/begun 2>/dev/null || true")) === "begun\n");

  await owner.keys.revoke({ key: assistant.keyId });
  const began = performance.now();
  const replies = await Promise.all(waits);
  await Promise.all(ends);
  const took = performance.now() - began;
  assert.deepEqual(
    replies.map(({ status }) => status),
    waits.map(() => 401),
    JSON.stringify(replies.map(({ body }) => body)),
  );
  context.diagnostic(`all were refused ${Math.round(took)} ms after the revocation's reply`);
  assert.ok(took < hangMs, `${took} ms`);

  const { processes } = await owner.processes.list({
    computer: String(created.body["id"]),
    state: "running",
  });
  const commands = processes.map(({ command }) => command);
  assert.ok(commands.includes("sleep 1000"), JSON.stringify(commands));
  assert.ok(
    commands.some((command) => command.startsWith("echo begun")),
    "the command of the revoked key is still listed",
  );
});
