import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import type { PeerOptions } from "./peers.ts";

export interface PeersClient {
  /** Why a peer could not start; null where it runs. */
  readonly notRun: { readonly crun: string | null; readonly podman: string | null };
  readonly time: (name: string) => Promise<number>;
  close(): Promise<void>;
}

/**
 * Debian 12's crun refuses hybrid hosts whose v2 hierarchy holds a controller. The peers run in a mount namespace where that hierarchy is
 * left out, which is no change to the host; they are timed by a process inside it, so the namespace costs them nothing.
 */
export const startPeers = async (options: PeerOptions): Promise<PeersClient> => {
  const script = 'if [ -d /sys/fs/cgroup/unified ]; then umount /sys/fs/cgroup/unified; fi; exec "$@"';
  const program = join(import.meta.dirname, "peers-process.ts");
  const child = spawn(
    "unshare",
    ["--mount", "--propagation", "private", "sh", "-c", script, "sh", process.execPath, program].concat(
      options.directory,
      options.imageArchive,
      options.cell,
    ),
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  const ended = once(child, "exit").then(() => {
    throw new Error("the peers' process ended");
  });
  ended.catch(() => undefined);
  const next = async (): Promise<Record<string, unknown>> => {
    const [message] = (await Promise.race([once(child, "message"), ended])) as [Record<string, unknown>];
    return message;
  };
  const { notRun } = (await next()) as unknown as PeersClient;
  return {
    notRun,
    time: async (name) => {
      child.send(name);
      const { milliseconds } = await next();
      if (typeof milliseconds !== "number") throw new Error(`${name}: ${String(milliseconds)}`);
      return milliseconds;
    },
    close: async () => {
      // One that has ended has said so to whoever waited for it.
      if (!child.connected) return;
      const gone = once(child, "exit");
      child.send("close");
      await gone;
    },
  };
};
