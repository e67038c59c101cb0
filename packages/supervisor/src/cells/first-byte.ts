import { connect } from "node:net";
import type { Clock } from "@holdfast/kit";

/**
 * Resolves when the agent behind `path` has sent something: it accepts connections. What it sent is not looked at. Rejects when the
 * connection ends first or after `withinMs`.
 */
export const waitForFirstByte = (path: string, withinMs: number, clock: Clock): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect({ path });
    const end = (settle: () => void): void => {
      cancel();
      socket.destroy();
      settle();
    };
    const cancel = clock.after(withinMs, () =>
      end(() => reject(new Error(`the agent did not answer within ${withinMs} ms`))),
    );
    socket.once("data", () => end(resolve));
    socket.once("error", (error) => end(() => reject(error)));
    socket.once("close", () => end(() => reject(new Error("the agent ended while starting"))));
  });
