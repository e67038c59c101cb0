import type { Cause, Computer } from "../domain/computer.ts";
import type { NewEvent } from "../domain/events.ts";

export interface EventWords {
  readonly reason?: string | null | undefined;
  /** Why it moved. */
  readonly cause?: Cause | "cell_ended" | "failed";
  readonly more?: Readonly<Record<string, unknown>>;
}

/** What of a computer its events tell. */
export type ToldOf = Pick<Computer, "accountId" | "id" | "principalId" | "name" | "cause">;

/** `kind` is the second word: `awake` tells `computer.awake`. */
export const computerEvent = (computer: ToldOf, kind: string, words: EventWords = {}): NewEvent => ({
  accountId: computer.accountId,
  kind: `computer.${kind}`,
  target: computer.id,
  computerId: computer.id,
  visibleTo: computer.principalId,
  data: {
    name: computer.name,
    cause: words.cause ?? computer.cause,
    ...(words.reason ? { reason: words.reason } : {}),
    ...words.more,
  },
});
