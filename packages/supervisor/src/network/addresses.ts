/**
 * Addresses of the cells' network. Each computer's slot gives its address for life and the name of its link.
 *
 * - `100.96.0.0/16`: cells, one /32 each (shared address space, RFC 6598: nobody's public or private network).
 * - `198.18.0.0/15`: what a cell can reach (benchmarking range, RFC 2544), all of it local to `cellnet`.
 *   `198.18.0.1` is the primary address of every link's end in `cellnet`; the rest of `198.18.0.0/16` is given to names that cells ask
 *   for, and `198.19.0.0/16` is the lane of tainted processes. Whoever listens there listens in `cellnet`.
 */
export const reachableRange = "198.18.0.0/15";
export const linkAddress = "198.18.0.1";

const firstCell = (100 << 24) | (96 << 16) | 256;

/** Slots that have an address: the range without its first and last 256. */
export const addressableSlots = 65_536 - 512;

/** Throws a RangeError for a slot without an address. */
export const cellAddress = (slot: number): string => {
  if (!Number.isInteger(slot) || slot < 0 || slot >= addressableSlots)
    throw new RangeError(`slot ${slot} has no address`);
  const value = firstCell + slot;
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join(".");
};

/** The link's end in `cellnet`. */
export const linkName = (slot: number): string => `c${slot}`;
