import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openVolumeFacts } from "./facts.ts";

const computerId = "cmp_00000000000000000001";
const old = { version: 1, computerId, slot: 3, group: 7, size: "small", image: "0", state: "ready" };

const useDirectory = async (context: TestContext) => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-facts-"));
  context.after(() => rm(directory, { recursive: true }));
  return { directory, pathOf: (id: string) => join(directory, `${id}.json`) };
};

test("facts from before there were archives and restorings are read as of computers that have neither", async (context) => {
  const placed = await useDirectory(context);
  await writeFile(placed.pathOf(computerId), JSON.stringify(old));
  const facts = await openVolumeFacts(placed);
  const { version: _version, ...rest } = old;
  assert.deepEqual(facts.get(computerId), { ...rest, restoring: null, restored: null, archive: null });
});

test("what is announced is read by the next supervisor and not known to this one; a damaged file stops the start", async (context) => {
  const placed = await useDirectory(context);
  await writeFile(join(placed.directory, ".half.new"), "{");
  const facts = await openVolumeFacts(placed);
  assert.deepEqual(await readdir(placed.directory), [], "a write that never finished is nothing");
  const { version: _version, ...rest } = old;
  const announced = {
    ...rest,
    size: "small",
    state: "ready",
    restoring: null,
    restored: null,
    archive: null,
  } as const;
  await facts.announce(announced);
  assert.equal(facts.get(computerId), undefined);
  assert.deepEqual((await openVolumeFacts(placed)).get(computerId), announced);
  facts.know(announced);
  assert.deepEqual([...facts.all()], [announced]);
  await facts.remove(computerId);
  assert.deepEqual([...(await openVolumeFacts(placed)).all()], []);
  await writeFile(placed.pathOf(computerId), "{}");
  await assert.rejects(openVolumeFacts(placed), /damaged/);
});
