import assert from "node:assert/strict";
import { test } from "node:test";
import { operationNames, operations, type OperationName } from "@holdfast/contract";
import { createComputer, run } from "../support/computer.ts";
import { raw } from "../support/raw.ts";
import { useComputer } from "../support/use.ts";

const { instance, assistant: owner, computer: ownersComputer } = await useComputer();
const other = await instance.assistant();
const terminal = await owner.client.processes.start({
  computer: ownersComputer,
  terminal: { columns: 80, rows: 24 },
  command: "cat",
});
await owner.client.services.create({ computer: ownersComputer, name: "web", command: "sleep 86400" });
await run(owner, ownersComputer, "echo mine > /work/file");
const snapshot = await owner.client.snapshots.create({ computer: ownersComputer });
const hold = await owner.client.holds.create({ computer: ownersComputer, reason: "work" });
const schedule = await owner.client.schedules.create({
  computer: ownersComputer,
  name: "often",
  command: "true",
  every_ms: 3_600_000,
});
const started = await owner.client.schedules.run({ schedule: schedule.id });
/** What the one has, and the other guesses. */
const handles = {
  computer: ownersComputer,
  process: terminal.id,
  service: "web",
  snapshot: snapshot.id,
  hold: hold.id,
  schedule: schedule.id,
  run: started.id,
};

/** Fields that an operation needs besides handles, so that a refusal is about these alone. */
const fields: Readonly<Partial<Record<OperationName, Readonly<Record<string, unknown>>>>> = {
  "process.exec": { command: "echo taken > /work/file" },
  "process.start": { command: "echo taken > /work/file" },
  "process.input": { text: "x" },
  "process.signal": { signal: "KILL" },
  "process.resize": { columns: 1, rows: 1 },
  "service.create": { name: "theirs", command: "true" },
  "file.read": { path: "/work/file" },
  "file.write": { path: "/work/file", content: "taken" },
  "file.edit": { path: "/work/file", edits: [{ old: "mine", new: "taken" }] },
  "file.list": { path: "/work" },
  "file.stat": { path: "/work/file" },
  "file.move": { path: "/work/file", to: "/work/taken" },
  "file.delete": { path: "/work/file" },
  "file.mkdir": { path: "/work/taken" },
  "file.download": { path: "/work/file" },
  "file.upload": { path: "/work/file" },
  "file.watch": { path: "/work" },
  "archive.export": { path: "/work" },
  "archive.import": { path: "/work" },
  "computer.fork": { name: "taken" },
  "child.create": { name: "taken" },
  "hold.create": { reason: "taken" },
  "offer.create": { paths: ["/work/file"] },
};

/** The request line and the body of one operation on these handles. */
const requestOf = (
  name: OperationName,
  on: Readonly<Record<string, string>>,
): { readonly path: string; readonly body: string } => {
  const { route, body } = operations[name];
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_all, field: string) => on[field] ?? "");
  const rest = fields[name] ?? {};
  const inQuery = route.method === "GET" || route.method === "DELETE" || body === "bytes";
  const query = new URLSearchParams(
    Object.entries(rest).map(([key, value]): [string, string] => [key, String(value)]),
  );
  if (inQuery) return { path: `${path}?${query.toString()}`, body: "" };
  return { path, body: JSON.stringify(rest) };
};

const ask = async (
  secret: string,
  name: OperationName,
  on: Readonly<Record<string, string>>,
): Promise<string> => {
  const { route, reply } = operations[name];
  const { path, body } = requestOf(name, on);
  const headers = [
    `host: 127.0.0.1:${instance.port}`,
    `authorization: Bearer ${secret}`,
    `content-type: ${operations[name].body === "bytes" ? "application/octet-stream" : "application/json"}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...(reply === "terminal"
      ? [
          "connection: upgrade",
          "upgrade: websocket",
          "sec-websocket-version: 13",
          "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
        ]
      : ["connection: close"]),
  ];
  const answer = await raw(
    instance.port,
    `${route.method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`,
    10_000,
  );
  const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "none";
  const code = /"code":\s*"(\w+)"/.exec(answer)?.[1] ?? "";
  return `${status} ${code}`;
};

const onComputers = operationNames.filter(
  (name) =>
    operations[name].scope !== "public" && /\{(computer|schedule|run)\}/.test(operations[name].route.path),
);

test("102: no operation of the contract knows another assistant's computer, or what is on it", async () => {
  assert.ok(onComputers.length >= 55, String(onComputers.length));
  for (const name of onComputers) assert.equal(await ask(other.secret, name, handles), "404 not_found", name);
  assert.equal((await run(owner, handles.computer, "cat /work/file")).stdout, "mine\n");
  assert.deepEqual(
    (await owner.client.services.list({ computer: handles.computer })).services.map(({ name }) => name),
    ["web"],
  );
});

test("102: within one's own computer another's process or service is not there", async () => {
  const computer = await createComputer(other);
  for (const name of onComputers) {
    const { path } = operations[name].route;
    if (!path.includes("{process}") && !path.includes("{service}")) continue;
    assert.match(
      await ask(other.secret, name, { ...handles, computer }),
      /^404 (not_found|process_not_found|service_not_found)$/,
      name,
    );
  }
  const process = await owner.client.processes.get({
    computer: handles.computer,
    process: handles.process,
  });
  assert.equal(process.state, "running");
});

test("102: lists, records and events tell of one's own alone", async () => {
  const { computers } = await other.client.computers.list({ limit: 200 });
  assert.ok(computers.every(({ id }) => id !== handles.computer));
  // Something of one's own, so that none of the three is empty.
  const own = await createComputer(other);
  const { records } = await other.client.records.list({ limit: 200 });
  const events: unknown[] = [];
  for await (const event of other.client.events.stream(
    { after: 0 },
    { signal: AbortSignal.timeout(10_000) },
  )) {
    events.push(event);
    if (event.target === own) break;
  }
  for (const [what, told] of Object.entries({ records, events })) {
    assert.ok(JSON.stringify(told).includes(own), `${what} tell of one's own`);
    for (const id of [handles.computer, handles.process, owner.id])
      assert.ok(!JSON.stringify(told).includes(id), `${what} tell of another's ${id}`);
  }
  for (const name of operationNames.filter((name) => operations[name].scope === "owner")) {
    const on = { key: owner.keyId, owner: "own_00000000000000000000" };
    assert.match(await ask(other.secret, name, on), /^404 not_found$/, name);
  }
});
