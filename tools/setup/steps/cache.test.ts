import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pruneDirectory } from "./cache.ts";

const digest = (letter: string): string => letter.repeat(64);
const dayMs = 24 * 3600 * 1000;

test("what is neither used, nor new, nor among the newest two is removed; what is no digest stays", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-cache-"));
  try {
    const nowMs = Date.now();
    const ages = { a: 0.5, b: 3, c: 4, d: 5, e: 6 };
    for (const [letter, days] of Object.entries(ages)) {
      await mkdir(join(directory, digest(letter)));
      await utimes(join(directory, digest(letter)), new Date(), new Date(nowMs - days * dayMs));
    }
    await mkdir(join(directory, "build"));
    await utimes(join(directory, "build"), new Date(), new Date(nowMs - 99 * dayMs));

    assert.deepEqual(await pruneDirectory(directory, new Set([digest("d")]), nowMs), [
      digest("c"),
      digest("e"),
    ]);
    assert.deepEqual(
      (await readdir(directory)).toSorted(),
      [digest("a"), digest("b"), "build", digest("d")].toSorted(),
    );
    assert.deepEqual(await pruneDirectory(join(directory, "absent"), new Set(), nowMs), []);
  } finally {
    await rm(directory, { recursive: true });
  }
});
