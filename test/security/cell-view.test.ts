import assert from "node:assert/strict";
import { test } from "node:test";
import { useCellHost } from "../support/cell-host.ts";
import { compareView } from "../support/cell-view.ts";

const host = await useCellHost();

test("66: what a cell sees and may do equals the stored copy", async () => {
  const id = await host.newComputer();
  const said = await host.exec(id, ["/.holdfast/agent", "view"]);
  assert.equal(said.code, 0, said.stderr);
  const { seen, stored } = await compareView(said.stdout);
  assert.deepEqual(seen, stored);
});
