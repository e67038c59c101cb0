import { join } from "node:path";
import type { CellCgroups } from "../cgroups/index.ts";
import { namesIn, removeDirectory, removeTree } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import type { Network } from "../network/index.ts";
import { rm } from "node:fs/promises";
import type { Bundles } from "./bundle.ts";

/**
 * Takes away everything of a cell, whatever state it is in: whole, half-made, dead, or nothing. The order is that of trust: first no
 * process of the cell runs, then its parts go. May be repeated from any point.
 */
export const createTakeDown =
  (parts: {
    readonly places: Places;
    readonly cgroups: CellCgroups;
    readonly network: Network;
    readonly bundles: Bundles;
  }): ((computerId: string, slot: number | undefined) => Promise<void>) =>
  async (computerId, slot) => {
    await parts.cgroups.kill(computerId);
    // What `crun delete` would do for a container whose processes and cgroups are gone: its state is this directory.
    await removeTree(join(parts.places.runtimeState, computerId));
    if (slot !== undefined) await parts.network.removeLink(slot);
    await parts.cgroups.remove(computerId);
    const sockets = parts.places.sockets(computerId);
    for (const name of await namesIn(sockets)) await rm(join(sockets, name));
    await removeDirectory(sockets);
    await parts.bundles.remove(computerId);
  };
