import type { HoldfastError } from "@holdfast/contract";
import { type Clock, networkOf, type RateLimiter } from "@holdfast/kit";
import type { RecordSink } from "../domain/record-sink.ts";
import type { NewRecord } from "../store/records.ts";
import type { Asked } from "./progress.ts";

export interface Recorder {
  /** The record of an operation as it begins. */
  begun(asked: Asked, target: string | null): NewRecord;
  /** Milliseconds since it was asked. */
  took(asked: Asked): number;
  /** Records the end of an operation whose place was reserved. */
  ended(asked: Asked, target: string | null, failure: HoldfastError | null): void;
  /** Records a refusal: at the rate of requests, for a flood of them must not fill the disk. */
  refused(asked: Asked, refusal: HoldfastError): void;
}

export const createRecorder = (parts: {
  readonly nodeId: string;
  readonly clock: Clock;
  readonly rate: RateLimiter;
  readonly records: RecordSink;
}): Recorder => {
  const took = (asked: Asked): number => Math.round(parts.clock.monotonic() - asked.startedAt);
  const begun = (asked: Asked, target: string | null): NewRecord => ({
    id: asked.operationId,
    accountId: asked.principal.accountId,
    nodeId: parts.nodeId,
    operation: asked.operation,
    principalId: asked.principal.id,
    credentialId: asked.principal.credentialId,
    source: `${asked.source.door} ${asked.source.address}`.slice(0, 100),
    target,
    inputDigest: asked.digest,
    startedAtMs: asked.startedAtMs,
  });
  return {
    begun,
    took,
    ended: (asked, target, failure) =>
      parts.records.add({
        ...begun(asked, target),
        outcome: failure ? "failed" : "succeeded",
        error: failure?.code ?? null,
        durationMs: took(asked),
      }),
    refused: (asked, refusal) => {
      if (!parts.rate.take(`refusals ${subjectOf(asked)}`).allowed) return;
      parts.records.refuse({
        ...begun(asked, null),
        outcome: "refused",
        error: refusal.code,
        durationMs: took(asked),
      });
    },
  };
};

/** Whom a request counts for: its principal or, where nobody is known, the network it came from. */
export const subjectOf = ({ principal, source }: Pick<Asked, "principal" | "source">): string =>
  principal.kind === "anonymous" ? `address ${networkOf(source.address)}` : principal.id;
