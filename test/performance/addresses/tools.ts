import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Versions are part of the figures. */
const packages = ["httpxy@0.5.6", "http-proxy-3@2.0.1", "@fastify/http-proxy@11.6.3", "fastify@5.12.8"];
const debian = ["nginx", "wrk", "libluajit-5.1-2"];
const cache = "/var/cache/holdfast/bench";

export interface Tools {
  /** Where the libraries are. Empty: they could not be had. */
  readonly modules: string;
  readonly nginx: string;
  readonly wrk: string;
  /** For programs that were unpacked and not installed. */
  readonly environment: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
}

/**
 * Fetches what the bench compares with and loads with, once. Debian's packages are only unpacked: installing nginx would start it on this
 * host. Rejects when there is no load generator; a peer that cannot be had is not run.
 */
export const fetchTools = async (): Promise<Tools> => {
  await mkdir(cache, { recursive: true });
  const modules = join(cache, "node_modules");
  await run("npm", [
    "install",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--prefix",
    cache,
    ...packages,
  ]);
  const unpacked = join(cache, "debian");
  const there = await readdir(join(unpacked, "usr/bin")).catch((): string[] => []);
  if (!there.includes("wrk")) await unpack(unpacked);
  const environment = { LD_LIBRARY_PATH: join(unpacked, "usr/lib/x86_64-linux-gnu") };
  const nginx = join(unpacked, "usr/sbin/nginx");
  const { stderr } = await run(nginx, ["-v"]);
  return {
    modules,
    nginx,
    wrk: join(unpacked, "usr/bin/wrk"),
    environment,
    versions: {
      nginx: stderr.trim(),
      ...Object.fromEntries(
        packages.map((name) => [name.slice(0, name.lastIndexOf("@")), name.slice(name.lastIndexOf("@") + 1)]),
      ),
    },
  };
};

const unpack = async (into: string): Promise<void> => {
  const downloads = join(cache, "downloads");
  await rm(downloads, { recursive: true, force: true });
  await mkdir(downloads, { recursive: true });
  await run("apt-get", ["-o", "APT::Sandbox::User=root", "download", ...debian], { cwd: downloads });
  for (const file of await readdir(downloads)) await run("dpkg", ["-x", join(downloads, file), into]);
};
