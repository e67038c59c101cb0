import assert from "node:assert/strict";
import { readFile, statfs, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import process from "node:process";
import { openCellHost, type CellHost } from "../support/cell-host.ts";

/** `CGROUP2_SUPER_MAGIC` of linux/magic.h: the v2 hierarchy is at the root only where it is alone. */
const cgroup2 = 0x63677270;
const layout = (await statfs("/sys/fs/cgroup")).type === cgroup2 ? "v2" : "hybrid";
const goldenFile = new URL(`cell-view.${layout}.golden.json`, import.meta.url);

let host: CellHost;
before(async () => {
  host = await openCellHost();
  await host.start();
});
after(() => host.close());

/**
 * One stored copy for each layout of cgroups (`cgroups`: which limits a cell can read there); write a new one with
 * `HOLDFAST_WRITE_GOLDEN=1` on such a host and read the difference before it is committed. `npm run test:host` is a v2 host.
 */
test("66: what a cell sees and may do equals the stored copy", async () => {
  const id = await host.newComputer();
  const said = await host.exec(id, ["/.holdfast/agent", "view"]);
  assert.equal(said.code, 0, said.stderr);
  const view = withoutRange(JSON.parse(said.stdout));
  if (process.env["HOLDFAST_WRITE_GOLDEN"]) await writeFile(goldenFile, JSON.stringify(view, undefined, 2));
  assert.deepEqual(view, JSON.parse(await readFile(goldenFile, "utf8")));
});

/** Which range of host ids a cell has differs; that it has one of 65,536 does not. */
const withoutRange = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    (key === "uid_map" || key === "gid_map") && Array.isArray(inner)
      ? inner.map((line: unknown) =>
          Array.isArray(line) ? [line[0], Number(line[1]) > 0 ? "host" : 0, line[2]] : line,
        )
      : inner,
  );
