import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { command, type InstanceSettings, lookUpUser, placesOf, userNames } from "@holdfast/launcher";
import { ensureDatabase } from "./database.ts";
import { ensureUsers } from "./users.ts";

test("a database whose set-up was cut off after it was mounted is Postgres' own after the next", async (context) => {
  await ensureUsers();
  const data = await mkdtemp(join(tmpdir(), "holdfast-database-"));
  const places = placesOf("database", data);
  await mkdir(places.postgres);
  await command(["mount", "-t", "tmpfs", "-o", "mode=755", "none", places.postgres]);
  context.after(async () => {
    await command(["umount", places.postgres]);
    await rm(data, { recursive: true });
  });
  await writeFile(places.databaseFile, "");
  await writeFile(join(places.postgres, "PG_VERSION"), "15\n");
  await mkdir(join(places.postgres, "lost+found"), { mode: 0o700 });

  await ensureDatabase({ database: "private" } as InstanceSettings, places);
  const { uid, gid } = await lookUpUser(userNames.postgres);
  const { uid: owner, gid: group, mode } = await stat(places.postgres);
  assert.deepEqual([owner, group, mode & 0o777], [uid, gid, 0o700]);
  await assert.rejects(stat(join(places.postgres, "lost+found")), { code: "ENOENT" });
});
