import assert from "node:assert/strict";
import { copyFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { createComputer } from "../../support/computer.ts";
import type { Assistant, Instance } from "../../support/instance.ts";
import { lookAtRows, startWriter } from "../../support/sqlite.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

interface Taken {
  readonly id: string;
  /** What had been acknowledged, outside, before the snapshot was asked for. */
  readonly acknowledged: number;
}

/**
 * Takes snapshots while the writer writes, and looks at each one's copy of the database: as the host finds it, and `forks` of them as a
 * computer that is made from the snapshot.
 */
export const writeThroughSnapshots = async (
  context: Pick<TestContext, "diagnostic" | "after">,
  { instance, assistant }: { readonly instance: Instance; readonly assistant: Assistant },
  options: { readonly journal: "wal" | "delete"; readonly snapshots: number; readonly forks: number },
): Promise<void> => {
  const { client } = assistant;
  const computer = await createComputer(assistant, { size: "medium" });
  const writer = await startWriter(assistant, computer, options.journal);
  await writer.untilAt(20);
  const taken: Taken[] = [];
  const begin = performance.now();
  for (let count = 0; count < options.snapshots; count += 1) {
    const acknowledged = writer.acknowledged();
    const { id } = await client.snapshots.create({ computer, name: `n${count}` });
    taken.push({ id, acknowledged });
  }
  const seconds = (performance.now() - begin) / 1000;
  const [first, last] = [taken[0]?.acknowledged ?? 0, taken.at(-1)?.acknowledged ?? 0];
  context.diagnostic(
    `${taken.length} snapshots in ${seconds.toFixed(1)} s, meanwhile ${last - first} commits were acknowledged`,
  );
  assert.ok(last > first, "the writer wrote on");
  await writer.stop();

  const { path: directory, remove } = temporaryDirectory("sqlite");
  context.after(remove);
  for (const { id, acknowledged } of taken) {
    const there = await lookOutside(
      join(instance.data, "pool/fs/supervisor/snapshots", id, "work"),
      directory,
    );
    assert.equal(there.whole, "ok", id);
    assert.equal(there.last, there.count, `${id}: a row is missing`);
    assert.ok(
      there.last >= acknowledged,
      `${id}: ${there.last} rows, ${acknowledged} were acknowledged before`,
    );
  }

  const step = Math.max(1, Math.floor(taken.length / options.forks));
  for (let index = 0; index < taken.length; index += step) {
    const { id: snapshot, acknowledged } = taken[index] ?? { id: "", acknowledged: 0 };
    const copy = await client.computers.fork({ computer, snapshot, name: "copy", wait_ms: 50_000 });
    assert.equal(copy.state, "awake", copy.reason ?? "");
    const { whole, last: rows } = await lookAtRows(assistant, copy.id);
    assert.equal(whole, "ok");
    assert.ok(rows >= acknowledged, `${rows} rows, ${acknowledged} were acknowledged before`);
    await client.computers.destroy({ computer: copy.id });
  }
  await client.computers.destroy({ computer });
};

/** The database with its journal, copied to where SQLite may recover it. */
const lookOutside = async (
  work: string,
  directory: string,
): Promise<{ readonly whole: string; readonly last: number; readonly count: number }> => {
  const place = join(directory, "copy");
  await rm(place, { recursive: true, force: true });
  await mkdir(place);
  for (const ending of ["", "-wal", "-journal"])
    await copyFile(join(work, `rows.db${ending}`), join(place, `rows.db${ending}`)).catch(
      (error: unknown) => {
        if ((error as { readonly code?: string }).code !== "ENOENT" || ending === "") throw error;
      },
    );
  const database = new DatabaseSync(join(place, "rows.db"));
  try {
    const [whole] = Object.values(database.prepare("pragma integrity_check").get() ?? {});
    const row = database.prepare("select coalesce(max(n), 0) as last, count(*) as count from rows").get();
    return { whole: String(whole), last: Number(row?.["last"]), count: Number(row?.["count"]) };
  } finally {
    database.close();
  }
};
