import assert from "node:assert/strict";
import { test } from "node:test";
import { instructions } from "../../../packages/control/src/doors/mcp/instructions.ts";
import { createTools } from "../../../packages/control/src/doors/mcp/tools.ts";
import { assertPinned } from "./pin.ts";

const tools = createTools().map(({ tool }) => tool);

test("tools/list is what is pinned", () => {
  assertPinned("tools-list.txt", `${JSON.stringify({ instructions, tools }, null, 2)}\n`);
});

test("the list keeps the limits of clients", () => {
  // Clients that take few load them as they are needed; those that load all at once take 128.
  assert.ok(tools.length <= 84, `${tools.length} tools`);
  for (const tool of tools) {
    assert.match(tool.name, /^[a-z][a-z0-9_]{0,39}$/);
    assert.ok(tool.title && tool.description, tool.name);
    assert.equal(tool.inputSchema.type, "object");
    const { destructiveHint, idempotentHint, openWorldHint, readOnlyHint } = tool.annotations ?? {};
    for (const hint of [readOnlyHint, destructiveHint, idempotentHint, openWorldHint])
      assert.equal(typeof hint, "boolean");
    assert.ok(!(readOnlyHint && destructiveHint), tool.name);
  }
  // About four characters a token: what a client that loads everything at once pays.
  const size = JSON.stringify(tools).length;
  assert.ok(size <= 122_000, `tools/list has ${size} characters`);
  assert.ok(instructions.length <= 2000, "some clients cut instructions at 2,048 characters");
});

test("the order is always the same", () => {
  assert.deepEqual(
    createTools().map(({ tool }) => tool),
    tools,
  );
});
