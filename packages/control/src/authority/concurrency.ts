import { HoldfastError } from "@holdfast/contract";

export interface Concurrency {
  /** Throws `limit_reached`; the returned function gives the place back. */
  enter(subject: string): () => void;
}

/** How much of something each subject has under way at a time. */
export const createConcurrency = (limit: number, what: string): Concurrency => {
  const running = new Map<string, number>();
  return {
    enter: (subject) => {
      const now = running.get(subject) ?? 0;
      if (now >= limit)
        throw new HoldfastError("limit_reached", `${now} ${what} are under way already`, {
          limit,
          counts: what,
        });
      running.set(subject, now + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const rest = (running.get(subject) ?? 1) - 1;
        if (rest === 0) running.delete(subject);
        else running.set(subject, rest);
      };
    },
  };
};
