import { type ControlGatewayMethods, limits, type Right } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";

/** A right that was found and is looked at again for as long as it is in use. */
export interface HeldRight {
  readonly right: Right;
  /** False from the moment on that it was withdrawn, ran out or could not be confirmed in time. */
  readonly holds: boolean;
  /** What is open by it: closed when it holds no more. The same object may be given once only. */
  use(user: RightUser): void;
  leave(user: RightUser): void;
}

export interface RightUser {
  /** The right is gone: what is open by it ends now. */
  rightLost(): void;
}

/** What a visitor shows. */
export interface Credential {
  readonly kind: "cookie" | "header";
  readonly token: string;
}

/** `unavailable`: control cannot say, so nobody is let in; the next try may succeed. */
export type FoundRight = HeldRight | "refused" | "unavailable";

export interface Rights {
  /** One that was found before and is confirmed: nothing has to be asked. */
  known(projectId: string, credential: Credential): HeldRight | undefined;
  /** By asking control. Never rejects. */
  find(projectId: string, credential: Credential): Promise<FoundRight>;
  /** Looks at what is in use every `limits.rightCheckMs` until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
}

/** Lookups under way at control; its RPC takes 512 calls at a time. */
const lookupsAtOnce = 400;
const lookupMs = 5000;
/** Kept without use for so long: a page's requests come in bursts. */
const keptUnusedMs = 5000;
const keptAtMost = 20_000;
const checksAtOnce = 3;

/**
 * Rights of visitors, as control last confirmed them. One serves from memory only while its last confirmation, counted from when the
 * question was sent, is younger than `limits.rightGraceMs`.
 */
export const createRights = (options: {
  readonly control: RpcClient<ControlGatewayMethods>;
  readonly clock: Clock;
  readonly logger: Logger;
}): Rights => {
  const { control, clock, logger } = options;
  const held = new Map<string, Held>();
  const lookups = new Map<string, Promise<FoundRight>>();
  /** Ends the wait for something to watch. */
  let begin = (): void => {};

  const keyOf = (projectId: string, { kind, token }: Credential): string => `${projectId} ${kind} ${token}`;

  const fresh = (entry: Held): boolean =>
    clock.monotonic() - entry.confirmedAt <= limits.rightGraceMs && entry.right.expires_at_ms > clock.now();

  const drop = (key: string, entry: Held): void => {
    if (held.get(key) === entry) held.delete(key);
    entry.end();
  };

  const lookUp = async (key: string, projectId: string, credential: Credential): Promise<FoundRight> => {
    const askedAt = clock.monotonic();
    try {
      const { right } = await control.call(
        "right.find",
        { project_id: projectId, ...credential },
        { timeoutMs: lookupMs },
      );
      if (!right || right.expires_at_ms <= clock.now()) return "refused";
      const entry = new Held(right, askedAt);
      const before = held.get(key);
      if (before?.right.id === right.id) {
        before.confirmedAt = Math.max(before.confirmedAt, askedAt);
        return fresh(before) ? before : "unavailable";
      }
      if (before) drop(key, before);
      if (held.size >= keptAtMost) return "unavailable";
      held.set(key, entry);
      begin();
      return fresh(entry) ? entry : "unavailable";
    } catch (error) {
      logger.debug("control did not say whether a right holds", { error });
      return "unavailable";
    }
  };

  const check = async (): Promise<void> => {
    const now = clock.monotonic();
    const ids: string[] = [];
    for (const [key, entry] of held) {
      if (entry.right.expires_at_ms <= clock.now()) drop(key, entry);
      else if (!entry.inUse && now - entry.usedAt > keptUnusedMs) held.delete(key);
      else ids.push(entry.right.id);
    }
    const batches: string[][] = [];
    for (let from = 0; from < ids.length; from += limits.rightsPerCheck)
      batches.push(ids.slice(from, from + limits.rightsPerCheck));
    const answers = await Promise.allSettled(
      batches.map(async (batch) => ({
        asked: new Set(batch),
        still: new Set(
          (await control.call("right.hold", { ids: batch }, { timeoutMs: limits.rightGraceMs })).held,
        ),
      })),
    );
    for (const answer of answers) {
      if (answer.status === "rejected") continue;
      const { asked, still } = answer.value;
      for (const [key, entry] of held) {
        if (!asked.has(entry.right.id)) continue;
        if (still.has(entry.right.id)) entry.confirmedAt = Math.max(entry.confirmedAt, now);
        else drop(key, entry);
      }
    }
  };

  const expire = (): void => {
    for (const [key, entry] of held) if (!fresh(entry)) drop(key, entry);
  };

  return {
    known: (projectId, credential) => {
      const entry = held.get(keyOf(projectId, credential));
      if (!entry || !fresh(entry)) return undefined;
      entry.usedAt = clock.monotonic();
      return entry;
    },
    find: async (projectId, credential) => {
      const key = keyOf(projectId, credential);
      const underWay = lookups.get(key);
      if (underWay) return underWay;
      if (lookups.size >= lookupsAtOnce) return "unavailable";
      const lookup = lookUp(key, projectId, credential).finally(() => lookups.delete(key));
      lookups.set(key, lookup);
      return lookup;
    },
    watch: async (signal) => {
      let underWay = 0;
      while (!signal.aborted) {
        if (held.size === 0) {
          await new Promise<void>((resolve) => {
            begin = () => {
              signal.removeEventListener("abort", begin);
              resolve();
            };
            signal.addEventListener("abort", begin);
          });
        }
        // Not awaited: what cannot be confirmed in time has to end in time, and a slow answer must not delay the next question.
        if (underWay < checksAtOnce && held.size > 0) {
          underWay += 1;
          void check().finally(() => {
            underWay -= 1;
          });
        }
        await clock.sleep(limits.rightCheckMs / 3, signal).catch(() => {});
        expire();
        await clock.sleep((limits.rightCheckMs * 2) / 3, signal).catch(() => {});
        expire();
      }
    },
  };
};

class Held implements HeldRight {
  readonly right: Right;
  confirmedAt: number;
  usedAt: number;
  #holds = true;
  readonly #users = new Set<RightUser>();

  constructor(right: Right, at: number) {
    this.right = right;
    this.confirmedAt = at;
    this.usedAt = at;
  }

  get holds(): boolean {
    return this.#holds;
  }

  get inUse(): boolean {
    return this.#users.size > 0;
  }

  use(user: RightUser): void {
    if (this.#holds) this.#users.add(user);
    else user.rightLost();
  }

  leave(user: RightUser): void {
    this.#users.delete(user);
  }

  end(): void {
    this.#holds = false;
    for (const user of this.#users) user.rightLost();
    this.#users.clear();
  }
}
