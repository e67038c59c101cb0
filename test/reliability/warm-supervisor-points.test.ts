import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { createIds, systemClock } from "@holdfast/kit";
import { useCellHost } from "../support/cell-host.ts";

const run = promisify(execFile);
const host = await useCellHost();
const newId = createIds(systemClock);
const call = host.control.call;
const wanted = join(host.places.data, "crash-point");
const start = (image: string): Promise<void> =>
  host.start({ flags: ["--image", image], environment: { HOLDFAST_CRASH_FILE: wanted } });

const images = join(host.places.pool, "images");
const usual = host.flags[host.flags.indexOf("--image") + 1] ?? "";
/** The same under another digest, as an update of the image brings one. It goes with the pool. */
const newer = usual.replace(/^./, (first) => (first === "0" ? "1" : "0"));
await run("btrfs", ["subvolume", "snapshot", "-r", join(images, usual), join(images, newer)]);

const warmOne = async (): Promise<{ readonly id: string; readonly cellId: string }> => {
  const id = newId("computer");
  await call("volume.create", { computer_id: id, size: "small" });
  const { cell } = await call("cell.start", {
    computer_id: id,
    size: "small",
    lease_ms: 600_000,
    warm: true,
  });
  return { id, cellId: cell.cell_id };
};

/** What a creation does with it. */
const claim = async (id: string) => {
  const { image } = await call("volume.create", { computer_id: id, size: "small" });
  const { cell } = await call("cell.start", { computer_id: id, size: "small", lease_ms: 600_000 });
  return { image, cellId: cell.cell_id };
};

for (const [point, image] of [
  ["cell.start:claimed", usual],
  ["cell.start:refreshing", newer],
] as const)
  test(`killed at ${point}: the next claim has a cell of the current image, and nothing is left`, async () => {
    await host.kill();
    await start(usual);
    const { id, cellId } = await warmOne();
    await host.kill();
    await start(image);
    await writeFile(wanted, point);
    await assert.rejects(claim(id));
    assert.ok(await host.ended(5_000), `${point} was reached`);
    await start(image);
    const claimed = await claim(id);
    assert.equal(claimed.image, image);
    assert.equal(claimed.cellId === cellId, image === usual, "it is the same cell where nothing has changed");
    assert.equal((await host.exec(id, ["/bin/true"])).code, 0);
    assert.deepEqual(await host.leftovers([id]), []);
    await call("volume.destroy", { computer_id: id });
    assert.deepEqual(await host.leftovers([]), []);
  });
