import { createServer } from "node:net";
import type { Clock } from "@holdfast/kit";
import { readRecord, recordPath, runningProgram, type Places, type ProgramPlan } from "@holdfast/launcher";

/** Whether a listener can be had at `address:port` now. */
export const isFree = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const [host = "", port] = address.split(":");
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(Number(port), host, () => server.close(() => resolve(true)));
  });

/**
 * Throws naming an address that another program of the host has: the program that it was meant for would be tried again for ever. To be
 * asked while no launcher runs, which might just be taking it.
 */
export const refuseBusyAddresses = async (
  programs: readonly Pick<ProgramPlan, "name" | "sockets">[],
  places: Pick<Places, "records">,
  clock: Clock,
): Promise<void> => {
  for (const { name, sockets } of programs) {
    if (runningProgram(await readRecord(recordPath(places, name)))) continue;
    for (const socket of sockets) {
      if (socket.kind !== "tcp" || (await becomesFree(socket.address, clock))) continue;
      const flags = name === "control" ? "--listen" : "--projects-listen or --projects-ask";
      throw new Error(
        `${name} is to listen on ${socket.address}, where another program of this host does, or which is no address of it. ` +
          `Choose another with ${flags}.`,
      );
    }
  }
};

/** A program that was just ended may still be letting go. */
const becomesFree = async (address: string, clock: Clock): Promise<boolean> => {
  for (let tries = 0; tries < 20; tries += 1) {
    if (await isFree(address)) return true;
    await clock.sleep(50);
  }
  return false;
};
