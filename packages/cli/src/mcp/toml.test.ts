import assert from "node:assert/strict";
import { test } from "node:test";
import { replaceTomlTable, tomlTable } from "./toml.ts";

const path = ["mcp_servers", "holdfast"];
const table = tomlTable(path, {
  url: "http://x",
  http_headers: { Authorization: 'B "k"' },
  args: ["a\\b", "c"],
});

test("a table is written as TOML", () => {
  assert.equal(
    table,
    '[mcp_servers.holdfast]\nurl = "http://x"\nhttp_headers = { Authorization = "B \\"k\\"" }\nargs = ["a\\\\b", "c"]\n',
  );
});

test("it is added at the end, everything else to the byte", () => {
  const before =
    'model = "m" # [mcp_servers.holdfast]\nnotes = """\n[mcp_servers.holdfast]\nx = 1"""\nlist = [\n  "a", # ]\n]\n';
  assert.equal(replaceTomlTable(before, path, table), `${before}\n${table}`);
  assert.equal(replaceTomlTable("", path, table), table);
  assert.equal(replaceTomlTable("a = 1", path, table), `a = 1\n\n${table}`);
});

test("it takes the place of the one before, with its sub-tables", () => {
  const before =
    '[a]\nx = 1\n\n[mcp_servers.holdfast]\nurl = "old"\n[mcp_servers.holdfast.env]\nK = "v"\n\n[mcp_servers.other]\nurl = "o"\n';
  assert.equal(
    replaceTomlTable(before, path, table),
    `[a]\nx = 1\n\n${table}\n[mcp_servers.other]\nurl = "o"\n`,
  );
});

test("twice is once", () => {
  const once = replaceTomlTable("[a]\nx = 1\n", path, table) ?? "";
  assert.equal(replaceTomlTable(once, path, table), once);
});

for (const [what, text] of Object.entries({
  "an inline parent": "mcp_servers = { holdfast = { url = 'x' } }\n",
  "a dotted key": 'mcp_servers.holdfast.url = "x"\n',
  "an inline table under the parent": '[mcp_servers]\nholdfast = { url = "x" }\n',
  "an array of tables": '[[mcp_servers.holdfast]]\nurl = "x"\n',
  "an unfinished string": 'a = "x\n',
  "an unfinished bracket": "a = [1,\n",
  "no TOML at all": "{ json: true }\n",
  "a bare line": "hello\n",
}))
  test(`refused: ${what}`, () => assert.equal(replaceTomlTable(text, path, table), undefined));
