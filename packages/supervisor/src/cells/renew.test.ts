import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLogger, systemClock } from "@holdfast/kit";
import { placesOf } from "../lib/places.ts";
import { createEvents } from "./events.ts";
import { openCells } from "./index.ts";
import type { CellParts } from "./parts.ts";
import { createRecords } from "./records.ts";

const [slow, other] = ["cmp_00000000000000000001", "cmp_00000000000000000002"];
const cellOf = (computerId: string): string => computerId.replace("cmp", "cel");

test("a computer that will not be frozen delays nobody else's lease", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-renew-"));
  const run = join(directory, "run");
  const own = placesOf({ instance: "renew", shortId: "rene", pool: directory, run });
  const places = { ...own, sockets: (id: string) => join(run, "cells", id) };
  const frozen = Promise.withResolvers<void>();
  const logger = createLogger({ program: "test", now: systemClock.now, level: "error" });
  const cellsDirectory = join(places.state, "cells");
  await mkdir(cellsDirectory, { recursive: true });
  await writeFile(places.bootFile, "boot");
  const records = createRecords({ places, directory: cellsDirectory, logger });
  for (const [slot, computerId] of [slow, other].entries())
    await records.write({
      computerId,
      cellId: cellOf(computerId),
      slot,
      size: "small",
      phase: "running",
      startedAtMs: 0,
      leaseEndsAtMs: 0,
      exit: null,
    });
  const parts = {
    places,
    records,
    logger,
    bootId: "boot",
    clock: systemClock,
    events: createEvents(systemClock),
    crashPoint: () => {},
    controlGid: 0,
    gatewayGid: 0,
    parallelStarts: 1,
    network: { removeLinksExcept: () => Promise.resolve() },
    cgroups: {
      list: () => Promise.resolve([slow, other]),
      state: () => Promise.resolve({ populated: true, frozen: false }),
      usage: () => Promise.resolve(undefined),
      watch: () => () => {},
      freeze: () => frozen.promise,
      reclaim: () => Promise.resolve(),
    },
  };
  const cells = await openCells(parts as unknown as CellParts);
  const leaseOf = (computerId: string): number =>
    cells.list().find((cell) => cell.computer_id === computerId)?.lease_ends_in_ms ?? 0;
  try {
    const freezing = cells.freeze(slow);
    const wanted = [slow, other].map((computerId) => ({
      computer_id: computerId,
      cell_id: cellOf(computerId),
    }));
    const renewing = cells.renew(wanted, 600_000);
    const deadline = performance.now() + 2_000;
    while (leaseOf(other) < 500_000 && performance.now() < deadline)
      await new Promise((resolve) => setImmediate(resolve));
    assert.ok(leaseOf(other) >= 500_000, `${leaseOf(other)} ms left`);
    frozen.resolve();
    await freezing;
    assert.deepEqual(await renewing, []);
    assert.deepEqual(await cells.renew([{ computer_id: other, cell_id: cellOf(slow) }], 1), [cellOf(slow)]);
  } finally {
    frozen.resolve();
    await cells.freeze(other);
    await rm(directory, { recursive: true });
  }
});
