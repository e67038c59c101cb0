import { HoldfastError, operations } from "@holdfast/contract";
import type { RateLimiter, RateState } from "@holdfast/kit";
import type { Concurrency } from "../authority/concurrency.ts";
import type { Dispatch } from "../domain/dispatch.ts";
import type { Principal, Source } from "../domain/principal.ts";
import type { Following } from "./follow.ts";

/** Lets requests in that a door answers by itself, or of which it learns later what they ask. */
export const createEntrances =
  (parts: {
    readonly rate: RateLimiter;
    readonly requests: Concurrency;
    readonly streams: Concurrency;
    readonly following: Following;
    /** Records what is refused before it is known which operation was asked for. */
    readonly refused: (principal: Principal, source: Source, refusal: HoldfastError) => void;
  }): Dispatch["enter"] =>
  (principal, as, source) => {
    const refused = (refusal: HoldfastError): void => parts.refused(principal, source, refusal);
    const recorded = <T>(work: () => T): T => {
      try {
        return work();
      } catch (error) {
        if (error instanceof HoldfastError) refused(error);
        throw error;
      }
    };
    const take = (): RateState => {
      const rate = parts.rate.take(principal.id);
      if (rate.allowed) return rate;
      throw new HoldfastError("rate_limited", "more requests than the window allows", {
        retry_after_ms: rate.resetMs,
      });
    };
    const rate = recorded(take);
    const leave = recorded(() => parts[as === "stream" ? "streams" : "requests"].enter(principal.id));
    // Nothing but a good credential is asked of who only listens.
    const followed =
      as === "stream"
        ? parts.following.follow({
            principal,
            operation: operations["principal.get"],
            signals: [],
            ended: () => {},
          })
        : undefined;
    let claimed = false;
    let answers = 0;
    return {
      signal: followed?.signal ?? new AbortController().signal,
      claim: () => {
        answers += 1;
        if (answers > 1) return undefined;
        claimed = true;
        return { rate, leave };
      },
      answering: () => {
        answers += 1;
        if (answers > 1) recorded(take);
      },
      refused,
      leave: () => {
        followed?.end();
        if (!claimed) leave();
      },
    };
  };
