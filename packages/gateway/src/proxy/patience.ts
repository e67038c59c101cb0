import { limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { AnswerBody } from "../head/answer.ts";
import type { Failure } from "./failure.ts";

/** An app from which nothing came for so long may be asleep. */
const askAfterMs = 400;

/**
 * A visitor that hung up looks like one that only finished asking, until something is sent to it. So long may an answer that has begun be
 * silent for one that may be gone: an event stream would else be kept for nobody.
 */
const goneMs = 2000;

/** A WebSocket on which nothing was said for so long may have to go when others find no connection. */
const tunnelPatienceMs = 10_000;

/** How far an exchange has come that the app was asked for. */
export interface Standing {
  readonly phase: "asked" | "answering" | "tunnel";
  /** The visitor's next bytes are what is waited for. */
  readonly takes: boolean;
  /** Of an answer that has begun. */
  readonly answerBody: AnswerBody | undefined;
}

/** Who of an exchange's two sides was heard when, and what takes longer than it may. Times are monotonic milliseconds. */
export class Patience {
  readonly #clock: Clock;
  #fromAppAt = 0;
  #fromVisitorAt = 0;
  #visitorSlowSince: number | undefined;
  #visitorEndedAt: number | undefined;
  #appEndedAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The visitor takes nothing more at the moment. */
  get visitorSlow(): boolean {
    return this.#visitorSlowSince !== undefined;
  }

  /** Neither side will send anything more. */
  get bothEnded(): boolean {
    return this.#visitorEndedAt !== undefined && this.#appEndedAt !== undefined;
  }

  asked(): void {
    this.#fromAppAt = this.#fromVisitorAt = this.#clock.monotonic();
  }

  heardApp(): void {
    this.#fromAppAt = this.#clock.monotonic();
  }

  /** Also when it could not be heard until now. */
  heardVisitor(): void {
    this.#fromVisitorAt = this.#clock.monotonic();
  }

  visitorSlows(): void {
    this.#visitorSlowSince = this.#clock.monotonic();
  }

  visitorDrained(): void {
    this.#visitorSlowSince = undefined;
  }

  visitorEnded(): void {
    this.#visitorEndedAt ??= this.#clock.monotonic();
  }

  appEnded(): void {
    this.#appEndedAt = this.#clock.monotonic();
  }

  /** `gone`: the rest is not worth waiting for, and nobody is told. */
  overdue(now: number, { answerBody, phase, takes }: Standing): "gone" | Failure | undefined {
    const past = (since: number | undefined, ms: number): boolean => since !== undefined && now - since > ms;
    const heardAt = Math.max(this.#fromAppAt, this.#fromVisitorAt);
    if (past(this.#visitorSlowSince, limits.visitReadStallMs)) return "gone";
    if (phase === "tunnel") {
      const endedAt = this.#visitorEndedAt ?? this.#appEndedAt;
      return past(endedAt, limits.visitIdleMs) && past(this.#fromAppAt, limits.visitIdleMs)
        ? "gone"
        : undefined;
    }
    if (takes && past(this.#fromVisitorAt, limits.visitBodyStallMs)) return { kind: "slow_body" };
    const silentMs = answerBody === undefined ? limits.visitBodyStallMs : goneMs;
    if (past(this.#visitorEndedAt, silentMs) && past(heardAt, silentMs)) return "gone";
    const mayBeSilent = answerBody === "chunked" || answerBody === "close" || this.visitorSlow;
    return !mayBeSilent && past(heardAt, limits.visitAnswerMs) ? { kind: "late" } : undefined;
  }

  /** The app owes an answer, or something said in return, for so long that it may be asleep. */
  mayBeAsleep(now: number, phase: Standing["phase"]): boolean {
    if (phase === "asked") return now - this.#fromAppAt > askAfterMs;
    return (
      phase === "tunnel" && this.#fromVisitorAt > this.#fromAppAt && now - this.#fromVisitorAt > askAfterMs
    );
  }

  /** Since when nothing happens because of the visitor; undefined when it is not the visitor who is waited for. */
  stalledSince({ phase, takes }: Standing): number | undefined {
    if (phase === "tunnel") return Math.max(this.#fromAppAt, this.#fromVisitorAt) + tunnelPatienceMs;
    return this.#visitorSlowSince ?? (takes ? this.#fromVisitorAt : undefined);
  }
}
