import { spawn, spawnSync } from "node:child_process";
import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { timed } from "../statistics.ts";
import { copyBundle } from "./bundle.ts";

/** What is measured beside Holdfast: the runtime alone and podman, on the same image. One that cannot start says why instead. */
export interface Peer {
  readonly exec: (() => Promise<number>) | undefined;
  readonly run: (() => Promise<number>) | undefined;
  readonly notRun: string | undefined;
}

export interface PeerOptions {
  /** Made by the caller, removed by `close`. */
  readonly directory: string;
  readonly imageArchive: string;
  /** Bundle of a computer that is awake. */
  readonly cell: string;
}

export interface Peers {
  readonly crun: Peer;
  readonly podman: Peer;
  readonly spawn: () => Promise<number>;
  close(): Promise<void>;
}

/** Limits of open files and processes that podman may set without the right to raise them. */
const podmanFlags = ["--network=none", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"];

/**
 * Prepares bundles from the image's archive and a cell's configuration. Must run in a mount namespace of its own without the v2 hierarchy where the
 * host is hybrid (`main.ts`): crun of Debian 12 refuses to start there otherwise.
 */
export const openPeers = async (options: PeerOptions): Promise<Peers> => {
  const { directory, imageArchive, cell } = options;
  const rootfs = join(directory, "rootfs");
  await mkdir(rootfs, { recursive: true });
  // The cell's root passes through it as nobody.
  await chmod(directory, 0o711);
  await command("tar", ["--zstd", "--extract", "--file", imageArchive, "--directory", rootfs]);
  const bundle = (name: string, args: readonly string[]): Promise<string> =>
    copyBundle({ cell, path: join(directory, name), rootfs, args });
  const sleeper = await bundle("sleeper", ["/bin/sleep", "3600"]);
  const once = await bundle("once", ["/bin/true"]);
  const tag = `hf-bench-${process.pid}`;
  let runs = 0;
  const crunFailed = await attempt(() => command("crun", ["run", "--detach", "--bundle", sleeper, tag]));
  const podmanFailed = await attempt(() =>
    command("podman", [
      "run",
      "--detach",
      "--name",
      tag,
      ...podmanFlags,
      "--rootfs",
      rootfs,
      "/bin/sleep",
      "3600",
    ]),
  );
  return {
    spawn: () => timed(() => command("/bin/true", [])),
    crun: {
      notRun: crunFailed,
      exec:
        crunFailed === undefined ? () => timed(() => command("crun", ["exec", tag, "/bin/true"])) : undefined,
      run:
        crunFailed === undefined
          ? () => timed(() => command("crun", ["run", "--bundle", once, `${tag}-${(runs += 1)}`]))
          : undefined,
    },
    podman: {
      notRun: podmanFailed,
      exec:
        podmanFailed === undefined
          ? () => timed(() => command("podman", ["exec", tag, "/bin/true"]))
          : undefined,
      run:
        podmanFailed === undefined
          ? () =>
              timed(() => command("podman", ["run", "--rm", ...podmanFlags, "--rootfs", rootfs, "/bin/true"]))
          : undefined,
    },
    close: async () => {
      spawnSync("crun", ["delete", "--force", tag], { stdio: "ignore" });
      spawnSync("podman", ["rm", "--force", "--time", "0", tag], { stdio: "ignore" });
      await rm(directory, { recursive: true, force: true });
    },
  };
};

const attempt = async (run: () => Promise<void>): Promise<string | undefined> => {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const command = (name: string, args: readonly string[], directory = "/"): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(name, args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(0, 500)));
    child.once("error", reject);
    // Not `close`: what a detached container inherits stays open.
    child.once("exit", (code) => {
      child.stderr.destroy();
      if (code === 0) resolve();
      else reject(new Error(`${name} ended with ${code}: ${said.trim()}`));
    });
  });
