import { chmod, chown } from "node:fs/promises";
import { join } from "node:path";
import { isMissing, makeDirectory } from "../lib/files.ts";
import type { StartPlan } from "./helper.ts";
import type { CellParts } from "./parts.ts";

type Parts = Pick<CellParts, "places" | "controlGid" | "gatewayGid">;
type Socket = StartPlan["sockets"][number];

/** The agent's listening sockets, control's and gateway's, in the order in which it inherits them: each for its own group alone. */
export const socketsOf = (
  { places, controlGid, gatewayGid }: Parts,
  computerId: string,
): readonly [Socket, Socket] => [
  { path: join(places.sockets(computerId), "control.sock"), gid: controlGid },
  { path: join(places.sockets(computerId), "ingress.sock"), gid: gatewayGid },
];

/** Two programs pass through it by name; nobody lists it. Who may connect is said by each socket. */
export const makeSocketDirectory = ({ places }: Parts, computerId: string): Promise<void> =>
  makeDirectory(places.sockets(computerId), 0o711);

/**
 * Gives the sockets of a cell that an earlier supervisor started the owners that they would have today: it may have known no group for
 * one of them. Connections go on. The paths are root's alone; nothing of the cell's is followed.
 */
export const mendSockets = async (parts: Parts, computerId: string): Promise<void> => {
  await makeSocketDirectory(parts, computerId);
  for (const { path, gid } of socketsOf(parts, computerId)) {
    try {
      await chown(path, 0, gid);
      await chmod(path, 0o660);
    } catch (error) {
      // A cell without its socket cannot be reached, which is for whoever asks it to find; the others are adopted.
      if (!isMissing(error)) throw error;
    }
  }
};
