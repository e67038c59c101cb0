import assert from "node:assert/strict";
import { test } from "node:test";
import { slugSchema } from "@holdfast/contract";
import { slugCandidates } from "./slugs.ts";

const random = (count: number): Buffer => Buffer.alloc(count, 255);

test("a project's name is its slug when it can be, else with an ending; one that was asked for stands alone", () => {
  assert.deepEqual(slugCandidates("blog", "diary", random), ["diary"]);
  const candidates = slugCandidates("blog", undefined, random);
  assert.equal(candidates[0], "blog");
  assert.ok(candidates.length > 1);
  for (const slug of [
    ...candidates,
    ...slugCandidates("a-name-of-19-letters".slice(0, 19), undefined, random),
  ])
    assert.ok(slugSchema.safeParse(slug).success, slug);
});

test("names that people take for the house's own are nobody's", () => {
  for (const name of ["www", "api", "admin", "localhost", "mail", "ns1", "holdfast"]) {
    assert.throws(() => slugCandidates("blog", name, random), { code: "invalid_input" });
    assert.ok(!slugCandidates(name, undefined, random).includes(name), name);
  }
});
