import { HoldfastError, limits } from "@holdfast/contract";
import type { Held } from "../domain/dispatch.ts";

export interface HeldBytes {
  begin(subject: string): Held;
}

/** Bytes of bodies that are held as a whole. What has arrived counts, not what was announced: announcing costs nothing. */
export const createHeldBytes = (
  most: { readonly perSubject: number; readonly total: number } = {
    perSubject: limits.heldBodyBytesPerPrincipal,
    total: limits.heldBodyBytes,
  },
): HeldBytes => {
  const bySubject = new Map<string, number>();
  let total = 0;
  const add = (subject: string, bytes: number): void => {
    total += bytes;
    const rest = (bySubject.get(subject) ?? 0) + bytes;
    if (rest === 0) bySubject.delete(subject);
    else bySubject.set(subject, rest);
  };
  return {
    begin: (subject) => {
      let taken = 0;
      return {
        take: (bytes) => {
          if ((bySubject.get(subject) ?? 0) + bytes > most.perSubject)
            throw new HoldfastError(
              "limit_reached",
              "too many bytes of this principal's requests are held already",
              {
                limit: most.perSubject,
                counts: "bytes of request bodies under way",
              },
            );
          if (total + bytes > most.total)
            throw new HoldfastError("unavailable", "too many large requests are under way", {
              part: "control",
            });
          taken += bytes;
          add(subject, bytes);
        },
        release: () => {
          const given = taken;
          taken = 0;
          if (given > 0) add(subject, -given);
          return given;
        },
      };
    },
  };
};
