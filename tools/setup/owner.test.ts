import assert from "node:assert/strict";
import { test } from "node:test";
import { ownerText } from "./owner.ts";

const mint = (): Promise<{ code: string; expires_at_ms: number }> =>
  Promise.resolve({ code: "01234-56789-abcde-fghjk", expires_at_ms: 900_000 });
const never = (): Promise<never> => Promise.reject(new Error("a code was made"));

test("a code is made while no owner has enrolled, and for a terminal only", async () => {
  assert.match(await ownerText("second", null, true, mint, 0), /\(15 minutes\): {2}01234-56789/);
  assert.match(await ownerText("second", null, true, mint, 0), /owners enrol --context second/);
  assert.match(await ownerText("second", null, false, never, 0), /holdfast owner login --instance second/);
});

test("once an owner has enrolled, none is made", async () => {
  const told = await ownerText("default", "owner", true, never, 0);
  assert.equal(told, "\nOwner: owner; passphrase forgotten? `holdfast owner login`\n");
  const second = await ownerText("second", "owner", false, never, 0);
  assert.match(second, /`holdfast owner login --instance second`/);
});
