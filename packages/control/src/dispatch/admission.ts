import {
  type ErrorCode,
  HoldfastError,
  limits,
  type Operation,
  type OperationName,
  type OperationParams,
} from "@holdfast/contract";
import type { Compilable } from "kysely";
import type { Clock, CrashPoint, Logger } from "@holdfast/kit";
import type { DispatchRequest } from "../domain/dispatch.ts";
import type { Admitted, Handler, OperationContext, Result } from "../domain/handler.ts";
import type { Reservation } from "../domain/ports.ts";
import { sha256 } from "../lib/digest.ts";
import { openUnder, sealUnder } from "../lib/seal.ts";
import {
  type Claim,
  claimKey,
  findKey,
  keepAnswer,
  type KeptAnswer,
  type KeyRow,
  releaseKey,
  setKeyTarget,
} from "../store/idempotency.ts";
import { isSettledAlready } from "../store/errors.ts";
import { finishOrFail, insertBegun, type NewRecord } from "../store/records.ts";
import type { Store } from "../store/transaction.ts";
import { asHoldfastError } from "./failure.ts";

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
}

interface Begun {
  readonly request: DispatchRequest;
  readonly operation: Operation;
  readonly handler: Handler<OperationName>;
  readonly context: OperationContext;
  readonly params: OperationParams<OperationName>;
  readonly digest: Buffer;
}

export interface Replayed {
  readonly result: Result;
  readonly expiresAtMs: number;
}

export interface Admission {
  begin(begun: Begun): {
    readonly expiresAtMs: number | null;
    /** The answer of an earlier request with this key. Throws when that is running, failed, or had another input. */
    replay(): Promise<Replayed | undefined>;
    /**
     * One durable commit: the key, what the module does in `admit`, and the record; the outcome and the kept answer too where that is all.
     * Throws what `admit` throws; then nothing was written.
     */
    record(
      record: NewRecord,
      reservation: Reservation,
      took: () => number,
    ): Promise<
      { readonly kind: "admitted"; readonly value: Admitted } | ({ readonly kind: "replayed" } & Replayed)
    >;
    /** One durable commit: what the module does in `settle` (or, of a failure, in `takeBack`), the outcome, the kept answer. Throws what they throw. */
    settle(end: {
      readonly admitted: Admitted;
      readonly result: Result | undefined;
      readonly error: unknown;
      readonly reservation: Reservation | null;
      readonly durationMs: number;
    }): Promise<void>;
  };
}

/** While the database is away the outcome is tried again for this long; then reconciliation records it. */
const settleRetriesMs: readonly number[] = [50, 200, 500, 1000, 1500, 2000];

export const createAdmission = (parts: Parts): Admission => ({
  begin: (begun) => {
    const { context, operation, handler, params } = begun;
    const key = context.idempotencyKey;
    const nowMs = context.startedAtMs;
    const claim: Claim | undefined =
      key === null
        ? undefined
        : {
            principalId: handler.caller?.(params) ?? context.principal.id,
            operation: operation.name,
            key: sha256(key).toString("hex"),
            inputDigest: begun.digest,
            operationId: context.operationId,
            nowMs,
            expiresAtMs: nowMs + limits.idempotencyKeptMs,
          };

    const replayOf = async (row: KeyRow): Promise<Replayed> => {
      if (!row.input_digest.equals(begun.digest))
        throw new HoldfastError(
          "idempotency_mismatch",
          "this idempotency key came with another input before",
          { operation_id: row.operation_id },
        );
      if (row.state === "running")
        throw new HoldfastError("operation_running", "the first request with this key is still running", {
          operation_id: row.operation_id,
          retry_after_ms: 1000,
        });
      if (row.state === "failed" && row.error)
        throw new HoldfastError(
          row.error.code as ErrorCode,
          row.error.message,
          row.error.details as Readonly<Record<string, unknown>>,
        );
      if (handler.replay && row.target !== null)
        return { result: await handler.replay(context, params, row.target), expiresAtMs: row.expires_at_ms };
      const output = row.output === null ? undefined : openAnswer(begun, row);
      if (output === undefined)
        throw new HoldfastError("timed_out", "the first request with this key may have been done", {
          operation_id: row.operation_id,
          target: row.target,
        });
      return { result: { output } as Result, expiresAtMs: row.expires_at_ms };
    };

    const replay = async (): Promise<Replayed | undefined> => {
      const row = claim && (await findKey(parts.store.db, claim));
      return row && replayOf(row);
    };

    /** Thrown inside the transaction to leave it: another request owns the key. */
    const taken = new Error("the idempotency key is taken");

    const record: ReturnType<Admission["begin"]>["record"] = async (row, reservation, took) => {
      parts.crashPoint("operation-before-admitted");
      try {
        const value = await parts.store.transaction<Admitted>(
          async (transaction) => {
            // In one flight. What the module says of a request whose key another one has is not heard.
            const claimed = claim ? claimKey(transaction, claim) : true;
            const [mine, admitted] = await Promise.allSettled([
              claimed,
              handler.admit?.(transaction, context, params),
            ]);
            if (mine.status === "rejected") throw mine.reason;
            if (!mine.value) throw taken;
            if (admitted.status === "rejected") throw admitted.reason;
            const done = admitted.value?.done;
            if (done)
              await Promise.all([done.settle?.(transaction), reservation.settle(transaction, "succeeded")]);
            return admitted.value ?? {};
          },
          ({ target = null, done }) => {
            const { db } = parts.store;
            const insert = insertBegun(db, { ...row, target }, done ? took() : null);
            if (done)
              return [insert, ...(done.last?.(db) ?? []), ...(claim ? [keep(done, null, target)] : [])];
            return claim && target !== null
              ? [insert, setKeyTarget(db, context.operationId, target)]
              : [insert];
          },
        );
        parts.crashPoint("operation-admitted");
        return { kind: "admitted", value };
      } catch (error) {
        if (error !== taken) throw error;
        const replayed = await replay();
        // The other request released the key in between: it did nothing, so this one may be sent again.
        if (!replayed)
          throw new HoldfastError(
            "operation_running",
            "another request with this key just ended without effect",
            {
              retry_after_ms: 100,
            },
          );
        return { kind: "replayed", ...replayed };
      }
    };

    const settle: ReturnType<Admission["begin"]>["settle"] = async (end) => {
      let failure =
        end.error === undefined ? null : asHoldfastError(end.error, parts.logger, context.operationId);
      parts.crashPoint("operation-before-settled");
      for (let attempt = 0; ; attempt += 1) {
        try {
          await apply(end, failure);
          parts.crashPoint("operation-settled");
          return;
        } catch (error) {
          if (isSettledAlready(error)) return;
          const known = asHoldfastError(error, parts.logger, context.operationId);
          const waitMs = settleRetriesMs[attempt];
          if (known.code === "unavailable" && waitMs !== undefined) await parts.clock.sleep(waitMs);
          else if (failure || known.code === "unavailable") throw known;
          else {
            // The module refused while settling: nothing of it was written. Record that, then tell the caller.
            failure = known;
            await apply(end, known);
            throw known;
          }
        }
      }
    };

    /** In one flight with the commit, but for what the module does in `settle`. */
    const apply = (end: Parameters<typeof settle>[0], failure: HoldfastError | null): Promise<void> => {
      const result = failure ? undefined : end.result;
      const outcome = failure ? ("failed" as const) : ("succeeded" as const);
      const target = result?.target === undefined ? end.admitted.target : result.target;
      const { db } = parts.store;
      return parts.store.transaction(
        async (transaction) => {
          await Promise.all([
            failure ? handler.takeBack?.(transaction, end.admitted) : result?.settle?.(transaction),
            end.reservation?.settle(transaction, outcome),
          ]);
        },
        () => [
          finishOrFail(db, {
            operationId: context.operationId,
            outcome,
            error: failure?.code ?? null,
            target,
            durationMs: end.durationMs,
          }),
          ...(result?.last?.(db) ?? []),
          ...(claim ? [keep(result, failure, target)] : []),
        ],
      );
    };

    const keep = (
      result: Result | undefined,
      failure: HoldfastError | null,
      target: string | null | undefined,
    ): Compilable => {
      const { db } = parts.store;
      if (failure && releases(failure)) return releaseKey(db, context.operationId);
      const answer: KeptAnswer = {
        state: failure ? "failed" : "succeeded",
        target,
        output: result && "output" in result && !handler.replay ? sealAnswer(begun, result.output) : null,
        error: failure && { code: failure.code, message: failure.message, details: failure.details },
      };
      return keepAnswer(db, context.operationId, answer);
    };

    return {
      expiresAtMs: claim?.expiresAtMs ?? null,
      replay,
      record,
      settle,
    };
  },
});

/** Retryable errors free the key, except those after which nobody knows whether it happened. */
const releases = (failure: HoldfastError): boolean =>
  failure.definition.retryable && failure.code !== "timed_out" && failure.code !== "internal";

/** Answers that hold a secret shown once are kept sealed under the caller's own token. */
const sealAnswer = (
  begun: Begun,
  output: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const { credential } = begun.request;
  if (!begun.handler.sealsOutput || credential.kind === "none") return output;
  return { sealed: sealUnder(credential.token, begun.context.operationId, output) };
};

const openAnswer = (begun: Begun, row: KeyRow): Readonly<Record<string, unknown>> | undefined => {
  const sealed = row.output?.["sealed"];
  if (!begun.handler.sealsOutput || typeof sealed !== "string") return row.output ?? undefined;
  const { credential } = begun.request;
  const opened =
    credential.kind === "none" ? undefined : openUnder(credential.token, row.operation_id, sealed);
  if (opened === undefined)
    throw new HoldfastError(
      "idempotency_mismatch",
      "the answer to this key holds a secret and can only be shown again to the session that asked first",
      { target: row.target },
    );
  return opened as Readonly<Record<string, unknown>>;
};
