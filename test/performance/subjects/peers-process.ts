/** The other side of `peers-client.ts`: runs in a mount namespace of its own and times what it is asked to. */
import process from "node:process";
import { openPeers } from "./peers.ts";

const [directory = "", imageArchive = "", cell = ""] = process.argv.slice(2);
const peers = await openPeers({ directory, imageArchive, cell });
const subjects: Readonly<Record<string, (() => Promise<number>) | undefined>> = {
  "host spawn": peers.spawn,
  "crun exec": peers.crun.exec,
  "crun run": peers.crun.run,
  "podman exec": peers.podman.exec,
  "podman run": peers.podman.run,
};
process.on("message", (name: string) => {
  void (async () => {
    if (name === "close") {
      await peers.close();
      process.disconnect();
      return;
    }
    const milliseconds = await subjects[name]?.().catch((error: unknown) => String(error));
    process.send?.({ name, milliseconds });
  })();
});
process.send?.({
  ready: true,
  notRun: { crun: peers.crun.notRun ?? null, podman: peers.podman.notRun ?? null },
});
