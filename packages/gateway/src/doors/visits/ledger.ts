import { limits } from "@holdfast/contract";

/** One that can be put out to make room. */
export interface Evictable {
  evict(): void;
}

/** A place of one socket. `leave` once is enough; more do nothing. */
export interface Seat {
  readonly address: string;
  leave(): void;
  /** It waits for a request, or for the rest of a head: it may have to go for others. The longest-waiting goes first. */
  waits(who: Evictable): void;
  /** It serves a request, and stays. */
  serves(who: Evictable): void;
}

export interface Ledger {
  /** Undefined: there is no room, and nobody who could make some. `counted` false: an address that stands for many visitors. */
  seat(address: string, counted: boolean): Seat | undefined;
  readonly taken: number;
}

interface Party {
  taken: number;
  readonly waiting: Set<Evictable>;
}

/** Counts visitors' sockets, over all and by address. When full, who only waits makes room for who comes. */
export const createLedger = (
  atMost: number = limits.visitSockets,
  atMostPerAddress: number = limits.visitSocketsPerAddress,
): Ledger => {
  const parties = new Map<string, Party>();
  const waiting = new Set<Evictable>();
  let taken = 0;

  const makeRoom = (among: ReadonlySet<Evictable>): boolean => {
    for (const longest of among) {
      longest.evict();
      return true;
    }
    return false;
  };

  return {
    seat: (address, counted) => {
      const party = parties.get(address) ?? { taken: 0, waiting: new Set<Evictable>() };
      if (counted && party.taken >= atMostPerAddress && !makeRoom(party.waiting)) return undefined;
      if (taken >= atMost && !makeRoom(waiting)) return undefined;
      parties.set(address, party);
      party.taken += 1;
      taken += 1;
      let left = false;
      let holder: Evictable | undefined;
      const serves = (who: Evictable): void => {
        party.waiting.delete(who);
        waiting.delete(who);
      };
      return {
        address,
        leave: () => {
          if (left) return;
          left = true;
          if (holder) serves(holder);
          party.taken -= 1;
          taken -= 1;
          if (party.taken === 0) parties.delete(address);
        },
        waits: (who) => {
          if (left) return;
          if (holder && holder !== who) serves(holder);
          holder = who;
          party.waiting.add(who);
          waiting.add(who);
        },
        serves,
      };
    },
    get taken() {
      return taken;
    },
  };
};
