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
  open: number;
  /** Each takes over the place of one that was open: with the connection, or to open another in its place. */
  readonly waiting: ((given: Upstream | "room") => void)[];
}

/** Over all lanes. */
const idleAtMost = 2048;
/** Apps close a connection when they like; it is not given out in the last moments that they promised. */
const keptMarginMs = 1000;

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
    const made: Lane = { key, name, idle: [], open: 0, waiting: [] };
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
    const index = of.idle.indexOf(upstream);
    if (index >= 0) {
      of.idle.splice(index, 1);
      idleCount -= 1;
    }
    left(of);
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
      for (let upstream = of.idle.pop(); upstream; upstream = of.idle.pop()) {
        idleCount -= 1;
        if (upstream.usable && now < upstream.idleUntil && now - upstream.idleSince <= withinMs)
          return upstream;
        upstream.destroy();
        forget(upstream);
        if (!lanes.has(of.name)) return undefined;
      }
      return undefined;
    },
    open: async (key, withinMs) => {
      const of = lane(key);
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
      else laneOf.set(opened, of);
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
