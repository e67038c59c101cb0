import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { withLock } from "./lock.ts";

const newLock = async (context: TestContext): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-lock-"));
  context.after(() => rm(directory, { recursive: true }));
  return join(directory, "a.lock");
};

/** Enough turns of the loop for whoever does not wait for the lock to have taken it. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200));

test("a lock is root's alone, also where an earlier version left one that everybody can open, and so hold for ever", async (context) => {
  const path = await newLock(context);
  const modes: number[] = [];
  const note = async (): Promise<void> => void modes.push((await stat(path)).mode & 0o777);
  await withLock(path, note);
  await rm(path);
  await writeFile(path, "");
  await chmod(path, 0o644);
  await withLock(path, note);
  assert.deepEqual(modes, [0o600, 0o600]);
});

test("who waited while the lock was taken away holds the one that is there now, and nobody beside", async (context) => {
  const path = await newLock(context);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const seen: string[] = [];
  const holds = (name: string, until?: Promise<void>) => async (): Promise<void> => {
    seen.push(`${name} begins`);
    await until;
    seen.push(`${name} ends`);
  };
  const deleting = withLock(path, async () => {
    await holds("first", first.promise)();
    await rm(path);
  });
  while (seen.length === 0) await settle();
  const waiting = withLock(path, holds("second", second.promise));
  await settle();
  first.resolve();
  while (!seen.includes("second begins")) await settle();
  const late = withLock(path, holds("third"));
  await settle();
  second.resolve();
  await Promise.all([deleting, waiting, late]);
  assert.deepEqual(seen, [
    "first begins",
    "first ends",
    "second begins",
    "second ends",
    "third begins",
    "third ends",
  ]);
});

test("a lock is free again once its holder was killed", async (context) => {
  const path = await newLock(context);
  const program = `
    import { withLock } from ${JSON.stringify(new URL("lock.ts", import.meta.url).href)};
    await withLock(${JSON.stringify(path)}, async () => {
      console.log("held");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const holder = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  let isFree = false;
  const waiting = withLock(path, async () => void (isFree = true));
  await settle();
  assert.equal(isFree, false);
  holder.kill("SIGKILL");
  await waiting;
  assert.equal(isFree, true);
});
