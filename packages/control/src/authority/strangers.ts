import { HoldfastError, limits } from "@holdfast/contract";
import { type Clock, createRateLimiter, Recent } from "@holdfast/kit";
import type { Strangers } from "../domain/strangers.ts";
import { databaseBusy, FewAtOnce } from "../lib/few-at-once.ts";

const rememberedNames = 10_000;

export interface StrangerOptions {
  /** Ends the sentence "too many unknown …". */
  readonly what: string;
  /** How many strangers are looked up at the same time, and how many more may wait for it. Default: as many as may be looked up at all. */
  readonly strangers?: { readonly atOnce: number; readonly waiting: number };
}

/**
 * What is not known costs a statement once: nothing unknown ever becomes a credential, for whoever learns one learns it after it was
 * written. Strangers that try ever new ones are counted, and only they: one that was good before is looked up whatever comes from beside it.
 */
export const createStrangers = (clock: Clock, options: StrangerOptions): Strangers => {
  const unknown = new Recent<string, true>(rememberedNames);
  const good = new Recent<string, true>(rememberedNames);
  const rate = createRateLimiter(clock, {
    most: limits.unknownCredentialsPerWindow,
    windowMs: limits.unknownCredentialsWindowMs,
  });
  const strange = new FewAtOnce(options.strangers ?? { atOnce: limits.lookupsAtOnce, waiting: 0 });
  let known = 0;

  const lookUp = async <T>(met: boolean, load: () => Promise<T>): Promise<T> => {
    // Each of these holds a connection and what has come of its request: while the database is slow they must not pile up.
    if (known + strange.size >= limits.lookupsAtOnce) throw databaseBusy();
    if (!met) return strange.run(load);
    known += 1;
    try {
      return await load();
    } finally {
      known -= 1;
    }
  };

  return {
    meet: async (name, from, load) => {
      if (unknown.get(name)) return undefined;
      const met = good.get(name) === true;
      if (!met) {
        const { allowed, resetMs } = rate.take(from);
        if (!allowed)
          throw new HoldfastError("rate_limited", `too many unknown ${options.what}`, {
            retry_after_ms: resetMs,
          });
      }
      const found = await lookUp(met, load).catch((error: unknown) => {
        // Nothing was learnt of it: whoever tries again while the database is away is no stranger yet.
        if (!met) rate.give(from);
        throw error;
      });
      if (found === undefined) {
        good.delete(name);
        unknown.set(name, true);
        return undefined;
      }
      if (!met) rate.give(from);
      good.set(name, true);
      return found;
    },
    introduce: (name) => good.set(name, true),
  };
};
