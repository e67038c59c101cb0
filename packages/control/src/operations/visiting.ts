import { limits, type OperationOutput } from "@holdfast/contract";
import type { Clock, Logger, NewId } from "@holdfast/kit";
import { createStrangers } from "../authority/strangers.ts";
import type { NewToken } from "../authority/tokens.ts";
import type { Computers, RestingWatch } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Module } from "../domain/module.ts";
import type { Visits } from "../domain/visits.ts";
import type { Listener } from "../store/listener.ts";
import { deleteOldVisits } from "../store/rights.ts";
import { deleteOldShares } from "../store/shares.ts";
import type { Store } from "../store/transaction.ts";
import { forgetDestroyed, listComputersOf } from "../store/visits.ts";
import { AccessLog, Rights, Routes, Waker } from "../visits/index.ts";
import type { Services } from "../work/index.ts";
import { writtenAtAdmission, writtenAtSettling } from "./reconcilers.ts";
import { shareHandlers } from "./shares.ts";
import { visitHandlers } from "./visits.ts";
import { createWebServices } from "./web-services.ts";

export interface VisitingParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly logger: Logger;
  readonly newToken: NewToken;
  readonly events: EventLog;
  readonly listener: Listener;
  readonly projectsAddress: URL;
  readonly computers: Pick<Computers, "reach" | "activity">;
  readonly resting: RestingWatch;
  readonly services: Services;
  /** A project as operations answer it. */
  readonly viewOf: (projectId: string, signal: AbortSignal) => Promise<OperationOutput<"project.get">>;
}

/** Shares that open nothing any more are listed this long. */
const sharesKeptMs = 30 * 24 * 3600 * 1000;

/** Who reaches the addresses of projects, and what brings projects up for them. */
export const createVisitingModule = (parts: VisitingParts): Module => {
  const { store, clock } = parts;
  const { db } = store;
  const strangers = createStrangers(clock, {
    what: "tickets, links, keys or sessions were shown at this address",
    strangers: { atOnce: strangersAtOnce, waiting: strangersWaiting },
  });
  const rights = new Rights({ ...parts, db, strangers });
  const routes = new Routes({ ...parts, db });
  const access = new AccessLog({ db, clock });
  const waker = new Waker({ ...parts, db, rights, services: createWebServices(parts) });
  let forgottenUntilMs = 0;

  const visits: Visits = {
    "routes.watch": ({ after, wait_ms: waitMs }, signal) => routes.watch(after, waitMs, signal),
    "right.trade": async (shown) => ({ session: await rights.trade(shown) }),
    "right.find": async (shown) => ({ right: await rights.find(shown) }),
    "right.hold": async ({ ids }) => ({ held: await rights.hold(ids) }),
    "project.wake": (params, signal) => waker.wake(params, signal),
    "visits.report": async ({ project_ids: ids }) => {
      for (const { computer_id: id } of await listComputersOf(db, ids)) parts.computers.activity.touch(id);
      return {};
    },
    "resting.watch": async ({ after, wait_ms: waitMs }, signal) => {
      const { next, changes } = await parts.resting.watch(after, waitMs, limits.routesPerReply, signal);
      return { next, computers: changes.map(({ id, rests }) => ({ computer_id: id, rests })) };
    },
    "access.record": async ({ records }) => {
      await access.record(records);
      return {};
    },
  };
  return {
    visits,
    handlers: { ...visitHandlers({ ...parts, db, rights }), ...shareHandlers({ ...parts, db, rights }) },
    reconcilers: [
      writtenAtAdmission("project.publish", "project.unpublish"),
      writtenAtSettling("project.open", "share.create", "share.revoke"),
    ],
    clean: async () => {
      const nowMs = clock.now();
      await deleteOldVisits(db, nowMs);
      await deleteOldShares(db, nowMs - sharesKeptMs);
      await access.trim();
      // What was destroyed while this ran is looked at again.
      await forgetDestroyed(db, forgottenUntilMs - overlapMs);
      forgottenUntilMs = nowMs;
    },
    stop: () => waker.stop(),
  };
};

const overlapMs = 60_000;
/** A flood at addresses that gateway makes up keeps no more of the database busy than this. */
const strangersAtOnce = 16;
/** After a start of control many come at once whom it has not met: a few milliseconds each. */
const strangersWaiting = 400;
