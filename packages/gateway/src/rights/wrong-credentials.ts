import { limits } from "@holdfast/contract";
import { type Clock, networkOf } from "@holdfast/kit";

/** How many credentials that give no right one network may still show; control is not asked for more. */
export interface WrongCredentials {
  /** False when it may not. Else the try counts as wrong until `wasRight`: many at once are no way around. */
  mayTry(address: string): boolean;
  wasRight(address: string): void;
}

const networksRemembered = 20_000;

/** A bucket for each network (of IPv6 a /64): so many at once, refilled evenly over the window. */
export const createWrongCredentials = (clock: Clock): WrongCredentials => {
  const size = limits.unknownCredentialsPerWindow;
  const perMs = size / limits.unknownCredentialsWindowMs;
  const buckets = new Map<string, { left: number; at: number }>();

  /** Brings a network's bucket up to now; the one that was looked at longest ago is forgotten first. */
  const look = (network: string): { left: number; at: number } => {
    const now = clock.monotonic();
    const bucket = buckets.get(network) ?? { left: size, at: now };
    bucket.left = Math.min(size, bucket.left + (now - bucket.at) * perMs);
    bucket.at = now;
    buckets.delete(network);
    buckets.set(network, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > networksRemembered && oldest !== undefined) buckets.delete(oldest);
    return bucket;
  };

  return {
    mayTry: (address) => {
      const bucket = look(networkOf(address));
      if (bucket.left < 1) return false;
      bucket.left -= 1;
      return true;
    },
    wasRight: (address) => {
      look(networkOf(address)).left += 1;
    },
  };
};
