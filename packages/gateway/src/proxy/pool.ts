import { limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { openUpstream, type Unopened, type Upstream } from "./upstream.ts";

/** Where requests of one kind go: connections of one lane are never used by another. */
export interface LaneKey {
  readonly projectId: string;
  readonly computerId: string;
  readonly port: number;
}

/** `crowded`: as many connections as there may be are in use, and as many visits as may wait are waiting. */
export type NoUpstream = Unopened | "crowded";

export interface Pool {
  /** One that stands and whose last use is not longer ago than `withinMs`; at once or not at all. */
  takeIdle(key: LaneKey, withinMs: number): Upstream | undefined;
  /** A new one, after waiting for room where there is none. Never rejects. */
  open(key: LaneKey, withinMs: number): Promise<Upstream | NoUpstream>;
  /** Gives back one that may serve another request of the same lane. `keptMs`: how long the app keeps it open, if it said so. */
  release(upstream: Upstream, keptMs: number | undefined): void;
  /** Closes what has not been used for long. */
  sweep(): void;
  /** Closes what is idle: of one project, or of all. */
  close(projectId?: string): void;
  readonly counts: { readonly open: number; readonly idle: number };
}

interface Lane {
  readonly key: LaneKey;
  readonly name: string;
  readonly idle: Upstream[];
  readonly all: Set<Upstream>;
  open: number;
  /** It is being looked for connections whose visitors do nothing. */
  evicting: boolean;
  /** Each takes over the place of one that was open: with the connection, or to open another in its place. */
  readonly waiting: ((given: Upstream | "room") => void)[];
}

/** Over all lanes. */
const idleAtMost = 2048;
/** Apps close a connection when they like; it is not given out in the last moments that they promised. */
const keptMarginMs = 1000;
/** While others wait for a connection, one whose visitor does nothing is not kept longer than this; looked for this often. */
const stalledMs = 500;
const evictEveryMs = 100;

/** Connections into cells, by project, computer and port. */
export const createPool = (options: {
  readonly ingressPath: (computerId: string) => string;
  readonly clock: Clock;
}): Pool => {
  const { clock } = options;
  const lanes = new Map<string, Lane>();
  const laneOf = new Map<Upstream, Lane>();
  let idleCount = 0;

  const nameOf = ({ projectId, computerId, port }: LaneKey): string => `${projectId} ${computerId} ${port}`;
  const lane = (key: LaneKey): Lane => {
    const name = nameOf(key);
    const known = lanes.get(name);
    if (known) return known;
    const made: Lane = { key, name, idle: [], all: new Set(), open: 0, evicting: false, waiting: [] };
    lanes.set(name, made);
    return made;
  };

  const left = (of: Lane): void => {
    const next = of.waiting.shift();
    if (next) return next("room");
    of.open -= 1;
    if (of.open === 0) lanes.delete(of.name);
  };

  const forget = (upstream: Upstream): void => {
    const of = laneOf.get(upstream);
    if (!of) return;
    laneOf.delete(upstream);
    of.all.delete(upstream);
    const index = of.idle.indexOf(upstream);
    if (index >= 0) {
      of.idle.splice(index, 1);
      idleCount -= 1;
    }
    left(of);
  };

  /** Ends the use of the connection whose visitor has let it wait longest, if that is long enough. */
  const evict = (of: Lane): void => {
    let longest: Upstream | undefined;
    let since = clock.monotonic() - stalledMs;
    for (const upstream of of.all) {
      const stalled = upstream.user?.stalledSince();
      if (stalled === undefined || stalled > since) continue;
      longest = upstream;
      since = stalled;
    }
    longest?.user?.evict();
  };
  /** While somebody waits in the lane. */
  const evictForWaiting = (of: Lane): void => {
    of.evicting = of.waiting.length > 0;
    if (!of.evicting) return;
    for (let count = of.waiting.length; count > 0; count -= 1) evict(of);
    clock.after(evictEveryMs, () => evictForWaiting(of));
  };

  const turn = (of: Lane): Promise<Upstream | "room" | "crowded"> =>
    new Promise((resolve) => {
      const give = (given: Upstream | "room" | "crowded"): void => {
        cancel();
        resolve(given);
      };
      const cancel = clock.after(limits.visitWakeMs, () => {
        const index = of.waiting.indexOf(give);
        if (index >= 0) of.waiting.splice(index, 1);
        resolve("crowded");
      });
      of.waiting.push(give);
      if (!of.evicting) evictForWaiting(of);
    });

  const closeIdle = (of: Lane, keep: (upstream: Upstream) => boolean): void => {
    for (const upstream of of.idle.filter((idle) => !keep(idle))) {
      upstream.destroy();
      forget(upstream);
    }
  };

  return {
    takeIdle: (key, withinMs) => {
      const of = lanes.get(nameOf(key));
      if (!of) return undefined;
      const now = clock.monotonic();
      for (let upstream = of.idle.at(-1); upstream; upstream = of.idle.at(-1)) {
        if (upstream.usable && now < upstream.idleUntil) {
          // The last was used last: the others wait longer.
          if (now - upstream.idleSince > withinMs) return undefined;
          of.idle.pop();
          idleCount -= 1;
          return upstream;
        }
        upstream.destroy();
        forget(upstream);
      }
      return undefined;
    },
    open: async (key, withinMs) => {
      const of = lane(key);
      const [oldest] = of.idle;
      if (of.open >= limits.visitUpstreamSockets && oldest) {
        oldest.destroy();
        forget(oldest);
        lanes.set(of.name, of);
      }
      if (of.open < limits.visitUpstreamSockets) of.open += 1;
      else if (of.waiting.length >= limits.visitsWaiting) return "crowded";
      else {
        const given = await turn(of);
        if (given !== "room") return given;
      }
      const opened = await openUpstream({
        path: options.ingressPath(key.computerId),
        port: key.port,
        withinMs,
        clock,
        onClose: forget,
      });
      if (typeof opened === "string") left(of);
      else {
        laneOf.set(opened, of);
        of.all.add(opened);
      }
      return opened;
    },
    release: (upstream, keptMs) => {
      const of = laneOf.get(upstream);
      upstream.detach();
      const now = clock.monotonic();
      const idleMs = Math.min(
        limits.visitUpstreamIdleMs,
        keptMs === undefined ? Infinity : keptMs - keptMarginMs,
      );
      if (
        !of ||
        !upstream.usable ||
        idleMs <= 0 ||
        of.idle.length >= limits.visitUpstreamIdle ||
        idleCount >= idleAtMost
      ) {
        upstream.destroy();
        forget(upstream);
        return;
      }
      upstream.served += 1;
      const next = of.waiting.shift();
      if (next) return next(upstream);
      upstream.idleSince = now;
      upstream.idleUntil = now + idleMs;
      of.idle.push(upstream);
      idleCount += 1;
    },
    sweep: () => {
      const now = clock.monotonic();
      for (const of of lanes.values()) closeIdle(of, ({ idleUntil }) => now < idleUntil);
    },
    close: (projectId) => {
      for (const of of lanes.values())
        if (projectId === undefined || of.key.projectId === projectId) closeIdle(of, () => false);
    },
    get counts() {
      let open = 0;
      for (const of of lanes.values()) open += of.open;
      return { open, idle: idleCount };
    },
  };
};
