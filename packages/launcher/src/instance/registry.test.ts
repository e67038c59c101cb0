import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { overlaps, parseSubordinate, type IdRange } from "./id-ranges.ts";
import { createHostRegistry, imageBuilderRange } from "./registry.ts";

const withRegistry = async (
  taken: readonly IdRange[],
  work: (registry: ReturnType<typeof createHostRegistry>, directory: string) => Promise<void>,
  isFree: (port: number) => Promise<boolean> = () => Promise.resolve(true),
): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-registry-"));
  let last = 1;
  const random = (bound: number): number => {
    last = (last * 48_271) % (2 ** 31 - 1);
    return last % bound;
  };
  try {
    const takenRanges = () => Promise.resolve(taken);
    await work(createHostRegistry({ directory, random, takenRanges, isFree }), directory);
  } finally {
    await rm(directory, { recursive: true });
  }
};

const rangeOf = (entry: { readonly uid_base: number; readonly uid_count: number }): IdRange => ({
  base: entry.uid_base,
  count: entry.uid_count,
});

test("instances that are entered at once get different blocks, short ids and ports", () =>
  withRegistry([], async (registry) => {
    const names = ["a", "b", "c", "d"];
    const claims = await Promise.all(names.map((name) => registry.claim(name, `/data/${name}`)));
    const entries = claims.map(({ entry }) => entry);
    for (const key of ["uid_base", "short_id"] as const) {
      assert.equal(new Set(entries.map((entry) => entry[key])).size, names.length, key);
    }
    const ports: number[] = entries.flatMap(({ port, projects_port, ask_port }) => [
      port,
      projects_port,
      ask_port,
    ]);
    assert.deepEqual(
      ports.toSorted((one, other) => one - other),
      Array.from({ length: 12 }, (_, index) => 7300 + index),
    );
    for (const [index, entry] of entries.entries()) {
      assert.equal(entry.uid_base % 65_536, 0);
      for (const other of entries.slice(index + 1)) assert.ok(!overlaps(rangeOf(entry), rangeOf(other)));
      assert.ok(!overlaps(rangeOf(entry), imageBuilderRange));
    }
  }));

test("an instance keeps what it has, in its own data directory only", () =>
  withRegistry([], async (registry) => {
    const first = await registry.claim("a", "/data/a");
    assert.equal(first.added, true);
    assert.deepEqual(await registry.claim("a", "/data/a"), { entry: first.entry, added: false });
    await assert.rejects(registry.claim("a", "/data/b"), /lives in \/data\/a/);
    await assert.rejects(registry.claim("b", "/data/a"), /belongs to the instance a/);
    await registry.release("a");
    assert.equal(await registry.find("a"), undefined);
  }));

test("a block that overlaps ids of the host is passed over", () =>
  withRegistry(parseSubordinate("someone:100007940:65536\nbroken line\n"), async (registry) => {
    const { entry } = await registry.claim("a", "/data/a");
    assert.ok(entry.uid_base > 100_007_940 + 65_536);
  }));

test("a port on which somebody listens is passed over, but not taken from whom it was given to", () => {
  const busy = new Set([7300, 7302]);
  return withRegistry(
    [],
    async (registry) => {
      const { entry } = await registry.claim("a", "/data/a");
      assert.deepEqual([entry.port, entry.projects_port, entry.ask_port], [7301, 7303, 7304]);
      // Its own programs listen by now.
      for (const port of [7301, 7303, 7304]) busy.add(port);
      assert.deepEqual((await registry.claim("a", "/data/a")).entry, entry);
    },
    (port) => Promise.resolve(!busy.has(port)),
  );
});

test("an instance from before projects had addresses keeps its port and is given the two that it lacks", () =>
  withRegistry([], async (registry, directory) => {
    const { entry: whole } = await registry.claim("a", "/data/a");
    await registry.claim("b", "/data/b");
    const path = join(directory, "instances.json");
    const stored = JSON.parse(await readFile(path, "utf8")) as {
      readonly instances: Record<string, Record<string, unknown>>;
    };
    for (const port of ["projects_port", "ask_port"]) delete stored.instances["a"]?.[port];
    await writeFile(path, JSON.stringify(stored));
    const { entry, added } = await registry.claim("a", "/data/a");
    assert.equal(added, false);
    assert.deepEqual(entry, whole, "the lowest that are free, which are those that it had");
    assert.deepEqual((await registry.list())["a"], entry);
  }));

test("when no block is left the next instance is refused", () =>
  withRegistry([{ base: 0, count: 2 ** 31 }], async (registry) => {
    await assert.rejects(registry.claim("a", "/data/a"), /No block of user ids is free/);
  }));
