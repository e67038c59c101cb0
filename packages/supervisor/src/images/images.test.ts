import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { createImages } from "./index.ts";

const [current, old, unpacking] = ["a".repeat(64), "b".repeat(64), `.${"c".repeat(64)}.new`];

test("an image that no computer needs is removed after a day, and nothing else", async () => {
  const images = await mkdtemp(join(tmpdir(), "holdfast-images-"));
  try {
    for (const name of [current, old, unpacking]) await mkdir(join(images, name));
    let passedMs = 0;
    const { removeExcept } = createImages({
      places: { images, image: (digest) => join(images, digest) },
      btrfs: {
        isReadOnly: () => Promise.resolve(true),
        deleteSubvolumes: async (paths) => void (await Promise.all(paths.map((path) => rmdir(path)))),
      },
      clock: { ...systemClock, now: () => systemClock.now() + passedMs },
    });
    const left = async (needed: readonly string[]): Promise<readonly string[]> => {
      await removeExcept(new Set(needed));
      return (await readdir(images)).toSorted();
    };
    assert.deepEqual(await left([current]), [unpacking, current, old], "it was just made");
    passedMs = 25 * 3_600_000;
    assert.deepEqual(await left([current, old]), [unpacking, current, old], "a computer needs it");
    assert.deepEqual(await left([current]), [unpacking, current]);
  } finally {
    await rm(images, { recursive: true });
  }
});
