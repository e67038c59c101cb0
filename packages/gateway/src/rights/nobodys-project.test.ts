import assert from "node:assert/strict";
import { test } from "node:test";
import { idPattern } from "@holdfast/contract";
import { nobodysProject } from "./nobodys-project.ts";

test("each slug without a project is asked about under an id of its own, always the same", () => {
  const ids = [undefined, "", "shop", "shop-2", "a"].map(nobodysProject);
  for (const id of ids) assert.match(id, idPattern("project"));
  assert.equal(new Set(ids).size, 4, "no slug is the empty one");
  assert.equal(nobodysProject("shop"), nobodysProject("shop"));
});
