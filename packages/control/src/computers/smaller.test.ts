import assert from "node:assert/strict";
import { test } from "node:test";
import { computerSizes } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import { refusePacked, refuseSmaller } from "./smaller.ts";

const large = { name: "box", size: "large" } as const;
const small = computerSizes.small.disk_bytes;

test("a disk is made no smaller than what it holds", async () => {
  await refuseSmaller(large, "small", () => Promise.resolve(small));
  await assert.rejects(
    refuseSmaller(large, "small", () => Promise.resolve(small + 1)),
    { code: "wrong_state" },
  );
});

test("the same size or a larger one is not asked about", async () => {
  const unasked = (): Promise<number> => Promise.reject(new Error("asked"));
  await refuseSmaller(large, "large", unasked);
  await refuseSmaller({ name: "box", size: "small" }, "medium", unasked);
});

test("nor is one that is packed, whose file tells nothing of its disk", () => {
  const at = (state: Computer["state"], desiredState: Computer["desiredState"]): Computer =>
    ({ ...large, state, desiredState }) as Computer;
  refusePacked(at("stopped", "stopped"));
  for (const [state, desired] of [
    ["archived", "archived"],
    ["stopped", "archived"],
    ["archived", "awake"],
  ] as const)
    assert.throws(() => refusePacked(at(state, desired)), { code: "wrong_state" });
});
