import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { createIds, systemClock } from "@holdfast/kit";
import { useCellHost } from "../support/cell-host.ts";

const host = await useCellHost();
const newId = createIds(systemClock);
const size = "small" as const;
const call = host.control.call;

const points = [
  "volume.fork:begin",
  "volume.fork:announced",
  "volume.fork:made",
  "volume.restore:begin",
  "volume.restore:made",
  "volume.restore:decided",
  "volume.restore:away",
  "volume.restore:swapped",
  "volume.restore:deleted",
  "volume.restore:done",
  "volume.destroy:snapshots",
  "snapshot.create:begin",
  "snapshot.create:announced",
  "snapshot.create:taken",
  "snapshot.delete:begin",
  "snapshot.delete:deleted",
  "snapshot.delete:forgotten",
  "archive.open:begin",
  "archive.open:recorded",
  "archive.open:made",
  "archive.seal:begin",
  "archive.seal:still",
  "archive.seal:decided",
  "archive.seal:deleted",
  "archive.unpack:begin",
  "archive.unpack:recorded",
  "archive.unpack:made",
  "archive.unpacked:begin",
  "archive.unpacked:decided",
  "archive.unpacked:deleted",
  "archive.unpacked:done",
  "archive.drop:begin",
  "archive.drop:deleted",
  "archive.drop:forgotten",
] as const;

const own = join(host.places.pool, "supervisor");
const fileOf = (id: string): string => join(own, "computers", id, "work/file");
const packOf = (id: string): string => join(own, "archives", id, "pack");
const has = async (path: string, content: string): Promise<void> =>
  assert.equal(await readFile(path, "utf8"), content, path);
const isArchived = async (computer_id: string): Promise<boolean | undefined> =>
  (await call("volume.list", {})).volumes.find((volume) => volume.computer_id === computer_id)?.archived;

/** What may be asked of one computer's disk, step by step. A step that was broken off is begun again, as a reconciler would. */
const steps = (): readonly (() => Promise<void>)[] => {
  const [id, fork] = [newId("computer"), newId("computer")];
  const [snapshot_id, restore_id, doomed] = [newId("snapshot"), newId("snapshot"), newId("snapshot")];
  return [
    async () => {
      await call("volume.create", { computer_id: id, size });
      await writeFile(fileOf(id), "one");
    },
    async () => void (await call("snapshot.create", { computer_id: id, snapshot_id })),
    async () => {
      await has(join(own, "snapshots", snapshot_id, "work/file"), "one");
      await writeFile(fileOf(id), "two");
      await call("volume.fork", { computer_id: fork, size, snapshot_id });
      await has(fileOf(fork), "one");
    },
    async () => {
      await has(fileOf(id), "two").catch(() => has(fileOf(id), "one"));
      await call("volume.restore", { computer_id: id, snapshot_id, restore_id });
      await has(fileOf(id), "one");
    },
    async () => {
      await call("snapshot.create", { computer_id: id, snapshot_id: doomed });
      await call("snapshot.delete", { snapshot_id: doomed });
    },
    async () => {
      if (await isArchived(id)) return has(packOf(id), "one");
      await has(fileOf(id), "one");
      await call("archive.open", { computer_id: id });
      await writeFile(packOf(id), "one");
      await call("archive.seal", { computer_id: id });
    },
    async () => {
      if ((await isArchived(id)) === false) return;
      await has(packOf(id), "one");
      await call("archive.unpack", { computer_id: id });
      await writeFile(fileOf(id), await readFile(packOf(id)));
      await call("archive.unpacked", { computer_id: id });
    },
    async () => {
      await has(fileOf(id), "one");
      await call("archive.open", { computer_id: id });
      await call("archive.drop", { computer_id: id });
      await has(fileOf(id), "one");
      await has(fileOf(fork), "one");
    },
    async () => void (await call("volume.destroy", { computer_id: id })),
    async () => void (await call("volume.destroy", { computer_id: fork })),
  ];
};

/** Where the running supervisor reads at which point it is to die. */
const wanted = join(host.places.data, "crash-point");
const start = (): Promise<void> => host.start({ environment: { HOLDFAST_CRASH_FILE: wanted } });
await host.kill();
await start();
after(() => rm(wanted, { force: true }));

for (const point of points) {
  test(`killed at ${point}, a disk is what it was or what it was to be, and the same call ends well`, async () => {
    await writeFile(wanted, point);
    let struck = false;
    for (const step of steps()) {
      const broken = await step().then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      if (!broken) continue;
      if (struck || !(await host.ended(5_000))) throw broken.error;
      struck = true;
      await start();
      const { volumes } = await call("volume.list", {});
      assert.deepEqual(await host.leftovers(volumes.map((volume) => volume.computer_id)), []);
      assert.deepEqual(await readdir(join(own, "swaps")), []);
      await step();
    }
    assert.ok(struck, `${point} was reached`);
    assert.deepEqual(await host.leftovers([]), []);
  });
}
