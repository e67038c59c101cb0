import assert from "node:assert/strict";
import { test } from "node:test";
import { nameSchema } from "@holdfast/contract";
import { slotBegin, slotName, timedName } from "./names.ts";

const at = (text: string): number => Date.parse(text);

test("an hour, a day and a week of UTC have one name each, and the next ones another", () => {
  const sunday = at("2026-11-29T23:59:59.999Z");
  const monday = at("2026-11-30T00:00:00Z");
  assert.equal(slotName("hourly", sunday), "hourly-20261129-23");
  assert.equal(slotName("hourly", monday), "hourly-20261130-00");
  assert.equal(slotName("daily", sunday), "daily-20261129");
  assert.equal(slotName("weekly", sunday), "weekly-20261123");
  assert.equal(slotName("weekly", monday), "weekly-20261130");
  assert.equal(slotName("weekly", at("2026-12-06T23:59:59Z")), "weekly-20261130");
  assert.equal(slotBegin("weekly", at("2026-12-06T12:00:00Z")), monday);
});

test("made names are names", () => {
  for (const name of [
    timedName("before-restore", at("2026-11-30T15:31:57Z"), "snp_01abcdefghjkmnpqrstv"),
    slotName("hourly", 0),
    slotName("weekly", at("2026-12-01T00:00:00Z")),
  ])
    assert.equal(nameSchema.parse(name), name);
});
