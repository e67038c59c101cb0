import { after } from "node:test";
import { socketPath } from "@holdfast/contract";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { openCellHost } from "./cell-host.ts";
import { createKey, enrolOwner, startControl, type TestControl } from "./control.ts";
import type { Assistant } from "./instance.ts";
import { type LeapingClock, leapingClock } from "./leaping-clock.ts";
import { startPostgres } from "./postgres.ts";

export interface Hosted {
  readonly control: TestControl;
  readonly clock: LeapingClock;
  readonly owner: HoldfastClient;
  readonly assistant: Assistant;
}

/**
 * Control in the test's own process, on a clock that the test moves, with a real supervisor, real cells and a real database. Await it at the
 * top of a file: all of it is taken down afterwards.
 */
export const useHosted = async (): Promise<Hosted> => {
  const cleanups: (() => unknown)[] = [];
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  const context = { after: (work: unknown) => void cleanups.push(work as () => unknown) };
  const host = await openCellHost();
  cleanups.push(() => host.close());
  await host.start();
  const postgres = await startPostgres();
  cleanups.push(() => postgres.stop());
  const clock = leapingClock();
  const supervisor = { instance: host.instance, socket: socketPath(host.instance, "supervisor", "control") };
  const control = await startControl(context, postgres, { clock, supervisor });
  const owner = await enrolOwner(control);
  const key = await createKey(control, owner, "claude", {
    ceilings: { computers: 50, disk_bytes: 10_000 * 1024 ** 3, largest_size: "large" },
  });
  const clientOf = (token: string, retries?: number): HoldfastClient =>
    createClient({ baseUrl: control.url, token, ...(retries === undefined ? {} : { retries }) });
  const assistant: Assistant = {
    id: key.assistant,
    keyId: key.id,
    secret: key.secret,
    client: clientOf(key.secret),
    once: clientOf(key.secret, 0),
  };
  return { control, clock, owner: clientOf(owner), assistant };
};
