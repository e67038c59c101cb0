import assert from "node:assert/strict";
import { test } from "node:test";
import { computerSizes } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import { refusePacked, refuseSmaller } from "./smaller.ts";

const large = { id: "cmp_1", name: "box", size: "large" } as const;
const small = computerSizes.small.disk_bytes;

/** A supervisor that knows how much a disk holds; without that, one that is not to be asked. */
const holding = (bytes?: number): Parameters<typeof refuseSmaller>[0] => ({
  call: () =>
    bytes === undefined
      ? Promise.reject(new Error("asked"))
      : (Promise.resolve({ usage: { disk_bytes: bytes } }) as Promise<never>),
  close: () => {},
});

test("a disk is made no smaller than what it holds", async () => {
  await refuseSmaller(holding(small), large, "small");
  await assert.rejects(refuseSmaller(holding(small + 1), large, "small"), { code: "wrong_state" });
});

test("the same size or a larger one is not asked about", async () => {
  await refuseSmaller(holding(), large, "large");
  await refuseSmaller(holding(), { ...large, size: "small" }, "medium");
});

test("nor is one that is packed, whose file tells nothing of its disk", () => {
  const at = (state: Computer["state"], desiredState: Computer["desiredState"]): Computer =>
    ({ ...large, state, desiredState }) as Computer;
  refusePacked(at("stopped", "stopped"), "small");
  refusePacked(at("archived", "archived"), "large");
  for (const [state, desired] of [
    ["archived", "archived"],
    ["stopped", "archived"],
    ["archived", "awake"],
  ] as const)
    assert.throws(() => refusePacked(at(state, desired), "small"), { code: "wrong_state" });
});
