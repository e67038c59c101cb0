import { limits } from "@holdfast/contract";
import { type Clock, createRateLimiter, networkOf } from "@holdfast/kit";

/** How many credentials that give no right one network (of IPv6 a /64) may still show; control is not asked for more. */
export interface WrongCredentials {
  /** False when it may not. Else the try counts as wrong until `wasRight`: many at once are no way around. */
  mayTry(address: string): boolean;
  wasRight(address: string): void;
}

export const createWrongCredentials = (clock: Clock): WrongCredentials => {
  const rate = createRateLimiter(clock, {
    most: limits.unknownCredentialsPerWindow,
    windowMs: limits.unknownCredentialsWindowMs,
  });
  return {
    mayTry: (address) => rate.take(networkOf(address)).allowed,
    wasRight: (address) => rate.give(networkOf(address)),
  };
};
