import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { residentBytes } from "../support/memory.ts";
import { useComputer } from "../support/use.ts";

const { instance, computer } = await useComputer();

const users = ["root", "hf-control", "hf-gateway", "hf-postgres", "nobody"] as const;
type User = (typeof users)[number];

/** Every socket that a program of ours listens on, and who may connect to it besides root of the host. */
const sockets = (): Readonly<Record<string, readonly User[]>> => ({
  "supervisor/launcher.sock": [],
  "supervisor/control.sock": ["hf-control"],
  "control/launcher.sock": [],
  "control/gateway.sock": ["hf-gateway"],
  "gateway/launcher.sock": [],
  "postgres/.s.PGSQL.5432": ["hf-control", "hf-postgres"],
  [`cells/${computer}/control.sock`]: ["hf-control"],
  [`cells/${computer}/ingress.sock`]: ["hf-gateway"],
});

const pathOf = (socket: string): string => `/run/holdfast/${instance.name}/${socket}`;

const runAs = (user: User, ...argv: readonly string[]) => {
  const group = user === "nobody" ? "nogroup" : user;
  const ids = [`--reuid=${user}`, `--regid=${group}`, "--clear-groups"];
  return spawnSync("setpriv", [...ids, ...argv], { encoding: "utf8", cwd: "/", timeout: 60_000 });
};

/** Runs JavaScript as this user of the host and answers what it prints as JSON. */
const as = (user: User, program: string): unknown => {
  const node = join(`/run/holdfast/${instance.name}`, "tree/node_modules/node/bin/node");
  const ran = runAs(user, node, "-e", `${helpers}\n(async () => {${program}})();`);
  assert.equal(ran.status, 0, ran.stderr);
  return JSON.parse(ran.stdout) as unknown;
};

const helpers = `
const net = require("node:net");
const print = (value) => { process.stdout.write(JSON.stringify(value)); process.exit(0); };
const frame = (message) => {
  const body = Buffer.isBuffer(message) ? message : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4); head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
};
/** What becomes of a connection on which these bytes are sent: its answer, or how it ends, or "waits" after a while. */
const send = (path, bytes, waitMs = 1500) => new Promise((resolve) => {
  const socket = net.connect(path, () => { if (bytes) socket.write(bytes); });
  const timer = setTimeout(() => { resolve("waits"); socket.destroy(); }, waitMs);
  const end = (how) => { clearTimeout(timer); resolve(how); socket.destroy(); };
  socket.on("data", (data) => end(data.toString("latin1")));
  socket.on("error", (error) => end(error.code));
  socket.on("close", () => end("closed"));
});
const honest = (path, method, params = {}) => send(path, frame({ id: 1, method, params }), 5000);
`;

test("130: each socket is reached by its one caller and by root, by nobody else", () => {
  for (const [socket, allowed] of Object.entries(sockets()))
    for (const user of users) {
      const how = as(user, `print(await send(${JSON.stringify(pathOf(socket))}, undefined, 300));`);
      const may = user === "root" || allowed.includes(user);
      assert.equal(how === "EACCES", !may, `${user} on ${socket}: ${String(how)}`);
    }
});

test("130: control's role in the database is no superuser, and nobody takes another's role", () => {
  const ask = (user: User, role: string, database: string, sql: string): string => {
    const connection = `host=${pathOf("postgres")} dbname=${database} user=${role}`;
    const ran = runAs(user, "psql", "-XAt", "-c", sql, connection);
    return ran.status === 0 ? ran.stdout.trim() : ran.stderr;
  };
  const all = "rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls";
  const own = (sql: string): string => ask("hf-control", "hf_control", "holdfast", sql);
  assert.equal(own(`select ${all} from pg_roles where rolname = current_user`), "f");
  for (const sql of [
    "copy (select 1) to program 'id'",
    "select pg_read_file('/etc/passwd')",
    "create role other superuser",
    "alter system set fsync = off",
    "create extension adminpack",
  ])
    assert.match(own(sql), /denied|permission|must be/, sql);
  for (const [user, role] of [
    ["hf-control", "postgres"],
    ["hf-control", "hf_health"],
    ["root", "hf_control"],
    ["root", "postgres"],
    ["hf-postgres", "hf_control"],
    ["hf-gateway", "hf_control"],
    ["hf-gateway", "postgres"],
    ["nobody", "postgres"],
    ["nobody", "hf_control"],
  ] as const)
    for (const database of ["postgres", "holdfast"])
      assert.match(
        ask(user, role, database, "select 'in'"),
        /failed|rejects|no pg_hba|denied/,
        `${user} as ${role} on ${database}`,
      );
});

test("130: the supervisor takes no path for a computer or a size from control's own user, and no method that it has not", async () => {
  const tries = [
    ["volume.create", { computer_id: "../../../etc", size: "small" }],
    ["volume.create", { computer_id: "/etc/passwd", size: "small" }],
    ["volume.destroy", { computer_id: "cmp_../../../../../x" }],
    ["cell.start", { computer_id: computer, size: "/dev/sda", lease_ms: 1000 }],
    ["cell.start", { computer_id: computer, size: "small", lease_ms: -1 }],
    ["clear", {}],
    ["exec", { argv: ["/bin/sh"] }],
  ] as const;
  const answers = as(
    "hf-control",
    `
const path = ${JSON.stringify(pathOf("supervisor/control.sock"))};
const answers = [];
for (const [method, params] of ${JSON.stringify(tries)}) answers.push(await send(path, frame({ id: 1, method, params }), 5000));
print({ answers, honest: await honest(path, "info") });
`,
  ) as { readonly answers: readonly string[]; readonly honest: string };
  assert.equal(answers.answers.length, tries.length);
  answers.answers.forEach((answer, index) =>
    assert.match(answer, /"code":"(invalid_input|not_found)"|^closed$/, JSON.stringify(tries[index])),
  );
  assert.match(answers.honest, /"result":/, "an honest call is answered, so the refusals are no accident");
  const volumes = await readdir(join(instance.data, "pool/fs/supervisor/computers"));
  assert.ok(volumes.every((name) => name.startsWith("cmp_")));
});

for (const [socket, user, method, params] of [
  ["supervisor/control.sock", "hf-control", "info", {}],
  ["supervisor/launcher.sock", "root", "health", {}],
  ["control/launcher.sock", "root", "health", {}],
  ["control/gateway.sock", "hf-gateway", "right.hold", { ids: [] }],
  ["gateway/launcher.sock", "root", "health", {}],
] as const)
  test(`130: what ${user} may send to ${socket} is whole messages of the schema, in numbers that are bounded`, () => {
    const answers = as(
      user,
      `
const path = ${JSON.stringify(pathOf(socket))};
const out = {};
out.tooLong = await send(path, Buffer.from([0x7f, 0xff, 0xff, 0xff]));
out.notJson = await send(path, frame(Buffer.from("not json")));
out.notUtf8 = await send(path, frame(Buffer.from([0xff, 0xfe, 0x80])));
out.notRequest = await send(path, frame({ hello: 1 }));
out.noMethod = await send(path, frame({ id: 1, method: "exec", params: { argv: ["/bin/sh"] } }));
out.prototype = await send(path, frame({ id: 1, method: "__proto__", params: {} }));
out.constructorName = await send(path, frame({ id: 1, method: "constructor", params: {} }));
out.deep = await send(path, frame(Buffer.from("[".repeat(500000) + "]".repeat(500000))));
out.longMethod = await send(path, frame({ id: 1, method: "x".repeat(100000), params: {} }));
// Half a message holds only its own connection.
const half = net.connect(path); half.on("error", () => {}); half.write(frame({ id: 1, method: ${JSON.stringify(method)}, params: {} }).subarray(0, 9));
out.besideHalf = await honest(path, ${JSON.stringify(method)}, ${JSON.stringify(params)});
// More connections than are allowed: the ones beyond are closed, and all is well when they are gone.
const many = Array.from({ length: 100 }, () => { const one = net.connect(path); one.on("error", () => {}); return one; });
await new Promise((resolve) => setTimeout(resolve, 1000));
out.closed = many.filter((one) => one.destroyed || one.readableEnded || one.closed).length;
for (const one of many) one.destroy();
half.destroy();
await new Promise((resolve) => setTimeout(resolve, 300));
out.after = await honest(path, ${JSON.stringify(method)}, ${JSON.stringify(params)});
print(out);
`,
    ) as Readonly<Record<string, string | number>>;
    for (const name of ["tooLong", "notJson", "notUtf8", "notRequest", "longMethod"])
      assert.equal(answers[name], "closed", `${name}: ${answers[name]}`);
    assert.match(String(answers["deep"]), /^closed$|^EPIPE$|^ECONNRESET$/);
    for (const name of ["noMethod", "prototype", "constructorName"])
      assert.match(String(answers[name]), /"code":"not_found"/, name);
    for (const name of ["besideHalf", "after"]) assert.match(String(answers[name]), /"result":/, name);
    assert.ok(Number(answers["closed"]) >= 30, `${answers["closed"]} of 100 were closed`);
  });

test("130: who asks and never reads makes the supervisor hold little, and others are answered", async () => {
  const { supervisor } = await instance.programs();
  const before = await residentBytes(supervisor?.pid ?? 0);
  const answers = as(
    "hf-control",
    `
const path = ${JSON.stringify(pathOf("supervisor/control.sock"))};
const asking = frame({ id: 1, method: "nothing." + "x".repeat(50), params: {} });
const burst = Buffer.concat(Array.from({ length: 500 }, () => asking));
const greedy = Array.from({ length: 20 }, () => {
  const one = net.connect(path); one.pause(); one.on("error", () => {});
  let sent = 0;
  const more = () => { while (!one.destroyed && sent < 60000 && one.write(burst)) sent += 500; };
  one.on("drain", more); more();
  return one;
});
await new Promise((resolve) => setTimeout(resolve, 6000));
const answer = await honest(path, "info");
print({ answer, taken: greedy.reduce((sum, one) => sum + one.bytesWritten - one.writableLength, 0) });
`,
  ) as { readonly answer: string; readonly taken: number };
  assert.match(answers.answer, /"result":/);
  // A hundred megabytes of questions are offered. What is taken beyond the sockets' own buffers would be held as answers.
  assert.ok(answers.taken < 24e6, `${answers.taken} bytes of questions were taken`);
  const grown = ((await residentBytes(supervisor?.pid ?? 0)) - before) / 1024 / 1024;
  assert.ok(grown < 200, `the supervisor grew by ${grown} MiB after ${answers.taken} bytes of questions`);
});

test("130: an agent's socket takes a broken caller for what it is", () => {
  const answers = as(
    "hf-control",
    `
const path = ${JSON.stringify(pathOf(`cells/${computer}/control.sock`))};
const out = {};
const hello = await send(path, undefined);
out.greets = hello.includes("protocol");
const after = (bytes) => new Promise((resolve) => {
  const socket = net.connect(path, () => socket.write(bytes));
  let text = "";
  const timer = setTimeout(() => { resolve("waits"); socket.destroy(); }, 15000);
  socket.on("data", (data) => (text += data.toString("latin1")));
  socket.on("error", () => {});
  socket.on("close", () => { clearTimeout(timer); resolve(/"code":"[a-z_]+"/.exec(text)?.[0] ?? "closed"); });
});
out.tooLong = await after(Buffer.from([0xff, 0xff, 0xff, 0xff, 1]));
out.noCall = await after(Buffer.concat([Buffer.from([0, 0, 0, 2]), Buffer.from("{}")]));
print(out);
`,
  ) as Readonly<Record<string, unknown>>;
  assert.equal(answers["greets"], true);
  for (const name of ["tooLong", "noCall"]) assert.notEqual(answers[name], "waits", name);
});
