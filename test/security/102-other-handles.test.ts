import assert from "node:assert/strict";
import { test } from "node:test";
import { call, createKey, type startControl, startWithKey } from "../support/control.ts";
import { usePostgres } from "../support/postgres.ts";

const postgres = usePostgres();

const start = async (
  context: Parameters<typeof startControl>[0],
  ceilings: Readonly<Record<string, unknown>>,
) => {
  const { control, owner, key } = await startWithKey(context, postgres, { key: { ceilings } });
  const create = (name: string, fields: Readonly<Record<string, unknown>> = {}) =>
    call(control.url, key.secret, "POST", "/v1/computers", { name, wait_ms: 0, ...fields });
  return { control, owner, key, create };
};

test("102: another assistant's computer is not there, by name or by id, for any operation", async (context) => {
  const { control, owner, create } = await start(context, {});
  const made = await create("mine");
  const id = String(made.body["id"]);
  const other = await createKey(control, owner, "codex");
  for (const ref of [id, "mine"]) {
    for (const [method, path, body] of [
      ["GET", ""],
      ["PATCH", "", { description: "x" }],
      ["DELETE", ""],
      ["POST", "/stop", {}],
      ["GET", "/usage"],
      ["GET", "/processes"],
      ["POST", "/exec", { command: "true" }],
      ["GET", "/files?path=/"],
      ["GET", "/services"],
    ] as const) {
      const reply = await call(control.url, other.secret, method, `/v1/computers/${ref}${path}`, body);
      assert.deepEqual([reply.status, reply.body["code"]], [404, "not_found"], `${method} ${ref}${path}`);
    }
  }
  assert.equal(
    (await call(control.url, other.secret, "GET", "/v1/computers")).body["computers"]?.toString(),
    "",
  );
  assert.equal((await call(control.url, owner, "GET", `/v1/computers/${id}`)).status, 200);
});

test("102: ids that nobody has answer as those of others do", async (context) => {
  const { control, owner, create } = await start(context, {});
  const id = String((await create("mine")).body["id"]);
  const other = await createKey(control, owner, "codex");
  const look = async (ref: string) => {
    const reply = await call(control.url, other.secret, "GET", `/v1/computers/${ref}`);
    const { instance: _, ...rest } = reply.body;
    return JSON.stringify([reply.status, rest]).replaceAll(ref, "<ref>");
  };
  assert.equal(await look(id), await look(`${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`));
  assert.equal(await look("mine"), await look("nobodys"));
});
