import type { Clock } from "@holdfast/kit";

export type EventKind = "started" | "exited" | "frozen" | "thawed" | "lease_ended" | "out_of_memory";

export interface CellEvent {
  readonly sequence: number;
  readonly computer_id: string;
  readonly cell_id: string;
  readonly kind: EventKind;
  readonly at_ms: number;
}

const kept = 1000;

/** The last events, to wait for. Sequence numbers grow over restarts, so a caller's place is never taken for a later one. */
export interface CellEvents {
  add(kind: EventKind, computerId: string, cellId: string): void;
  wait(
    after: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly next: number; readonly events: readonly CellEvent[] }>;
}

export const createEvents = (clock: Clock): CellEvents => {
  const events: CellEvent[] = [];
  const waiting = new Set<() => void>();
  let last = clock.now();
  return {
    add: (kind, computerId, cellId) => {
      const at = clock.now();
      last = Math.max(last + 1, at);
      events.push({ sequence: last, computer_id: computerId, cell_id: cellId, kind, at_ms: at });
      if (events.length > kept) events.shift();
      for (const wake of waiting) wake();
    },
    wait: async (after, waitMs, signal) => {
      if (!events.some((event) => event.sequence > after) && waitMs > 0) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            cancel();
            waiting.delete(wake);
            signal.removeEventListener("abort", wake);
            resolve();
          };
          const cancel = clock.after(waitMs, wake);
          waiting.add(wake);
          signal.addEventListener("abort", wake, { once: true });
        });
      }
      const found = events.filter((event) => event.sequence > after);
      return { next: found.at(-1)?.sequence ?? Math.max(after, last), events: found };
    },
  };
};
