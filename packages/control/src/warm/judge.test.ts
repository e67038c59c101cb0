import assert from "node:assert/strict";
import { test } from "node:test";
import type { CellView } from "@holdfast/contract";
import type { WarmRow } from "../store/warm.ts";
import { judge, wantedOf } from "./judge.ts";

const kind = { image: "image", policy: "policy" };

const row = (id: string, fields: Partial<WarmRow> = {}): WarmRow => ({
  computer_id: id,
  node_id: "node",
  size: "small",
  state: "ready",
  image: "image",
  policy: "policy",
  cell_id: `cell of ${id}`,
  made_at_ms: 0,
  ...fields,
});

const cell = (id: string, fields: Partial<CellView> = {}): CellView =>
  ({ computer_id: id, cell_id: `cell of ${id}`, state: "running", warm: true, ...fields }) as CellView;

const judged = (rows: readonly WarmRow[], cells: readonly CellView[], count: number) => {
  const { ready, going, missing } = judge(rows, cells, kind, wantedOf(count));
  const ids = (all: readonly WarmRow[]): readonly string[] => all.map(({ computer_id }) => computer_id);
  return { ready: ids(ready), going: ids(going), missing };
};

test("only what is whole, current and running is ready; the rest goes, and the smallest size is made first", () => {
  const rows = [
    row("good"),
    row("half", { state: "making" }),
    row("leaving", { state: "going" }),
    row("old-image", { image: "before" }),
    row("old-policy", { policy: "before" }),
    row("dead"),
    row("frozen"),
    row("another"),
    row("claimed for nothing"),
    row("larger", { size: "medium" }),
  ];
  const cells = ["good", "half", "leaving", "old-image", "old-policy", "larger"].map((id) => cell(id));
  cells.push(cell("frozen", { state: "frozen" }), cell("another", { cell_id: "a later one" }));
  cells.push(cell("claimed for nothing", { warm: false }));
  assert.deepEqual(judged(rows, cells, 4), {
    ready: ["good", "larger"],
    going: ["half", "leaving", "old-image", "old-policy", "dead", "frozen", "another", "claimed for nothing"],
    missing: ["small", "small", "small", "medium"],
  });
});

test("when fewer are wanted the oldest stay", () => {
  const rows = ["oldest", "older", "newest"].map((id) => row(id));
  const cells = rows.map(({ computer_id }) => cell(computer_id));
  assert.deepEqual(judged(rows, cells, 2), {
    ready: ["oldest", "older"],
    going: ["newest"],
    missing: ["medium"],
  });
  assert.deepEqual(judged(rows, cells, 0).going, ["oldest", "older", "newest"]);
});
