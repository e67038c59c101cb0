import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Strangers } from "../domain/strangers.ts";
import { Recent } from "../lib/recent.ts";
import { createRateLimiter } from "./rate.ts";

const rememberedNames = 10_000;

/**
 * What is not known costs a statement once: nothing unknown ever becomes a credential, for whoever learns one learns it after it was
 * written. Strangers that try ever new ones are counted, and only they: one that was good before is looked up whatever comes from beside it.
 */
export const createStrangers = (
  clock: Clock,
  options: {
    /** Ends the sentence "too many unknown …". */
    readonly what: string;
    /** Strangers that are looked up at the same time; of all together `limits.lookupsAtOnce`. */
    readonly atOnce?: number;
  },
): Strangers => {
  const atOnce = options.atOnce ?? limits.lookupsAtOnce;
  const unknown = new Recent<string, true>(rememberedNames);
  const good = new Recent<string, true>(rememberedNames);
  const rate = createRateLimiter(clock, {
    most: limits.unknownCredentialsPerWindow,
    windowMs: limits.unknownCredentialsWindowMs,
  });
  const underWay = { known: 0, strange: 0 };

  const lookUp = async <T>(
    kind: keyof typeof underWay,
    load: () => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    // Each of these holds a connection and what has come of its request: while the database is slow they must not pile up.
    if (
      underWay.known + underWay.strange >= limits.lookupsAtOnce ||
      (kind === "strange" && underWay.strange >= atOnce)
    )
      throw new HoldfastError("unavailable", "too many requests wait for the database", { part: "database" });
    underWay[kind] += 1;
    try {
      return await load();
    } finally {
      underWay[kind] -= 1;
    }
  };

  return {
    meet: async (name, from, load) => {
      if (unknown.get(name)) return undefined;
      const known = good.get(name) === true;
      if (!known) {
        const { allowed, resetMs } = rate.take(from);
        if (!allowed)
          throw new HoldfastError("rate_limited", `too many unknown ${options.what}`, {
            retry_after_ms: resetMs,
          });
      }
      const found = await lookUp(known ? "known" : "strange", load).catch((error: unknown) => {
        // Nothing was learnt of it: whoever tries again while the database is away is no stranger yet.
        if (!known) rate.give(from);
        throw error;
      });
      if (found === undefined) {
        good.delete(name);
        unknown.set(name, true);
        return undefined;
      }
      if (!known) rate.give(from);
      good.set(name, true);
      return found;
    },
    introduce: (name) => good.set(name, true),
  };
};
