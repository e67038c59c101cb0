import { createReadStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import {
  cacheDirectory,
  command,
  exists,
  type Places,
  plainEnvironment,
  tryCommand,
  withLock,
} from "@holdfast/launcher";
import { buildImage } from "../image/build.ts";
import { checkArchive } from "../image/check-archive.ts";
import { readRecipe, type Recipe } from "../image/recipe.ts";
import type { StepResult } from "../progress.ts";

/** The base image as a read-only subvolume of the pool, by the digest of its recipe; built once per host. The value is the digest. */
export const ensureImage = async (
  source: string,
  places: Places,
  note: (text: string) => void,
): Promise<StepResult<string>> => {
  const recipe = await readRecipe(source, "base");
  const subvolume = join(places.pool, "images", recipe.digest);
  const detail = `${recipe.name} ${recipe.digest.slice(0, 12)}`;
  if (await isReadOnlySubvolume(subvolume)) return { outcome: "skipped", detail, value: recipe.digest };
  const archive = await ensureArchive(recipe, source, note);
  note("unpacking");
  await unpack(recipe, archive, subvolume);
  return { outcome: "done", detail, value: recipe.digest };
};

/** The packed image of a recipe in the host's cache, built unless it is there. */
export const ensureArchive = async (
  recipe: Recipe,
  source: string,
  note: (text: string) => void,
): Promise<string> => {
  const archive = join(cacheDirectory, "images", `${recipe.digest}.tar.zst`);
  await withLock(join(cacheDirectory, "images.lock"), async () => {
    await mkdir(join(cacheDirectory, "images"), { recursive: true, mode: 0o755 });
    if (!(await exists(archive))) await buildImage(recipe, source, archive, note);
  });
  return archive;
};

/** Checks the whole archive before the first file of it is written; then unpacks beside and renames. */
const unpack = async (recipe: Recipe, archive: string, subvolume: string): Promise<void> => {
  const read = () => createReadStream(archive, { highWaterMark: 256 * 1024 });
  await pipeline(read(), createZstdDecompress(), (chunks: AsyncIterable<Buffer>) =>
    checkArchive(chunks, recipe),
  );
  const fresh = join(subvolume, "..", `.${recipe.digest}.new`);
  await mkdir(join(subvolume, ".."), { recursive: true, mode: 0o700 });
  for (const left of [fresh, subvolume]) await removeSubvolume(left);
  await command(["btrfs", "subvolume", "create", fresh]);
  const tar = spawn(
    "tar",
    [
      "--extract",
      "--numeric-owner",
      "--same-owner",
      "--preserve-permissions",
      "--no-xattrs",
      "--no-acls",
      "--directory",
      fresh,
    ],
    { stdio: ["pipe", "ignore", "pipe"], env: plainEnvironment },
  );
  let said = "";
  tar.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-2000);
  });
  const ended = once(tar, "close");
  await pipeline(read(), createZstdDecompress(), tar.stdin);
  const [status] = (await ended) as [number | null];
  if (status !== 0) throw new Error(`the image could not be unpacked: ${said.trim()}`);
  // Left out of the archive: a cell gets a /dev of its own.
  await mkdir(join(fresh, "dev"), { recursive: true, mode: 0o755 });
  await command(["sync", "--file-system", fresh]);
  await rename(fresh, subvolume);
  await command(["btrfs", "property", "set", "-f", "-t", "subvol", subvolume, "ro", "true"]);
};

const removeSubvolume = async (path: string): Promise<void> => {
  if (!(await exists(path))) return;
  const deleted = await tryCommand(["btrfs", "subvolume", "delete", path]);
  if (deleted.status !== 0) await rm(path, { recursive: true, force: true });
};

const isReadOnlySubvolume = async (path: string): Promise<boolean> => {
  const { status, stdout } = await tryCommand(["btrfs", "property", "get", "-t", "subvol", path, "ro"]);
  return status === 0 && stdout.trim() === "ro=true";
};
