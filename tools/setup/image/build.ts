import { createHash } from "node:crypto";
import { constants as fileConstants, createWriteStream } from "node:fs";
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { command, lookUpUser, plainEnvironment, removeTree, userNames } from "@holdfast/launcher";
import { syncDirectory } from "@holdfast/kit";
import { proxies } from "../steps/packages.ts";
import { readAptSources, sourcesForSuite } from "./apt-sources.ts";
import type { Recipe } from "./recipe.ts";

/**
 * Builds the image of `recipe` into `archive` (tar, zstd). mmdebstrap runs as a user without rights in a user namespace, so no
 * maintainer script runs as root of the host.
 */
export const buildImage = async (
  recipe: Recipe,
  source: string,
  archive: string,
  note: (text: string) => void,
): Promise<void> => {
  const user = await lookUpUser(userNames.image);
  const work = `${archive}.work`;
  await removeTree(work);
  await mkdir(join(work, "extras"), { recursive: true, mode: 0o755 });
  await copyFile(join(source, "node_modules/node/bin/node"), join(work, "extras/node"));
  note("npm");
  await fetchNpm(recipe, join(work, "extras"));
  await copyFile(join(recipe.directory, "customize.sh"), join(work, "customize.sh"));
  await chmod(join(work, "customize.sh"), 0o755);
  const release = await readFile("/etc/os-release", "utf8");
  const hostSuite = /^VERSION_CODENAME=(\S+)$/m.exec(release)?.[1] ?? recipe.suite;
  const sources = sourcesForSuite(await readAptSources(), hostSuite, recipe.suite, recipe.components);
  await writeFile(join(work, "sources.list"), sources, { mode: 0o644 });
  await chown(work, user.uid, user.gid);

  const settings = await aptSettings();
  await command(
    [
      "setpriv",
      "--reuid",
      String(user.uid),
      "--regid",
      String(user.gid),
      "--clear-groups",
      "mmdebstrap",
      "--mode=unshare",
      `--variant=${recipe.variant}`,
      "--skip=output/dev",
      "--format=tar",
      `--include=${Object.keys(recipe.packages).join(",")}`,
      ...settings.map((setting) => `--aptopt=${setting}`),
      // The places are ours and hold no character that a shell would read.
      `--customize-hook=${work}/customize.sh "$1" ${work}/extras`,
      recipe.suite,
      join(work, "image.tar"),
      join(work, "sources.list"),
    ],
    { environment: { ...plainEnvironment, ...proxies(), TMPDIR: work, HOME: "/nonexistent" }, onLine: note },
  );
  note("compressing");
  await pack(join(work, "image.tar"), archive);
  await removeTree(work);
};

/** Makes the archive of the image that the builder's user made. Throws for a link in its place: it may lead to what only root reads. */
export const pack = async (tar: string, archive: string): Promise<void> => {
  const file = await open(tar, fileConstants.O_RDONLY | fileConstants.O_NOFOLLOW);
  await pipeline(
    file.createReadStream({ highWaterMark: 1024 * 1024 }),
    createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
    createWriteStream(`${archive}.new`, { mode: 0o644, flush: true }),
  );
  await rename(`${archive}.new`, archive);
  await syncDirectory(join(archive, ".."));
};

/** Fetches npm from the registry that this machine's npm uses, and proves that it is the one of the recipe. */
const fetchNpm = async (recipe: Recipe, directory: string): Promise<void> => {
  const { PATH = plainEnvironment["PATH"] ?? "", HOME = "/root" } = process.env;
  const cache = join(directory, "npm-cache");
  await command(
    [
      "npm",
      "pack",
      "--loglevel=error",
      "--ignore-scripts",
      `npm@${recipe.npm.version}`,
      "--pack-destination",
      directory,
    ],
    // The home tells which registry; nothing is left in it.
    {
      environment: {
        ...plainEnvironment,
        ...proxies(),
        PATH,
        HOME,
        npm_config_cache: cache,
        ...npmSettings(),
      },
    },
  );
  await rm(cache, { recursive: true, force: true });
  const [name] = (await readdir(directory)).filter((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack made no file");
  const integrity = `sha512-${createHash("sha512")
    .update(await readFile(join(directory, name)))
    .digest("base64")}`;
  if (integrity !== recipe.npm.integrity) {
    throw new Error(
      `npm ${recipe.npm.version} from the registry is not the one the recipe names (${integrity}).`,
    );
  }
  await rename(join(directory, name), join(directory, "npm.tgz"));
};

const npmSettings = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined &&
        /^(npm_config_(registry|userconfig|cafile)|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i.test(entry[0]),
    ),
  );

/** What the host's apt needs to reach and believe its mirror; mmdebstrap reads none of the host's configuration by itself. */
export const aptSettings = async (): Promise<readonly string[]> => {
  const dump = await command(["apt-config", "dump"]);
  return dump
    .split("\n")
    .filter((line) =>
      /^Acquire::(https?::(Proxy|CaInfo|Verify-Peer|Verify-Host)|Check-Valid-Until|Check-Date|Retries)\b.* "/i.test(
        line,
      ),
    )
    .map((line) => line.replace(/;$/, ""))
    .filter((line) => !line.endsWith('""'));
};
