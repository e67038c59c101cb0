import { HoldfastError, limits, operations, type Operation, type OperationName } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId, RateLimiter } from "@holdfast/kit";
import { anonymousOf } from "./authority/anonymous.ts";
import { authorize, offers } from "./authority/authorize.ts";
import type { Authority } from "./authority/identify.ts";
import { createConcurrency } from "./authority/concurrency.ts";
import { createHeldBytes } from "./authority/held.ts";
import { createAdmission, type Replayed } from "./dispatch/admission.ts";
import { asHoldfastError, retryAfter } from "./dispatch/failure.ts";
import { createEntrances } from "./dispatch/entrance.ts";
import { createFollowing } from "./dispatch/follow.ts";
import { createObserve } from "./dispatch/observe.ts";
import { askedOf, beginProgress, type Progress } from "./dispatch/progress.ts";
import { createRecorder, subjectOf } from "./dispatch/recorder.ts";
import { letGo, untilEnd } from "./dispatch/streams.ts";
import { validate } from "./dispatch/validate.ts";
import type { Dispatch, DispatchRequest, Outcome } from "./domain/dispatch.ts";
import type { Handler, OperationContext, Result } from "./domain/handler.ts";
import type { Module } from "./domain/module.ts";
import type { Approvals, Budget, KillSwitch, Reservation } from "./domain/ports.ts";
import type { Credential, Principal, Source } from "./domain/principal.ts";
import type { RecordSink } from "./domain/record-sink.ts";
import { inputDigest } from "./lib/digest.ts";
import type { Store } from "./store/transaction.ts";

export interface DispatchParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: NewId;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
  readonly accountId: string;
  readonly authority: Authority;
  readonly rate: RateLimiter;
  readonly records: RecordSink;
  readonly killSwitch: KillSwitch;
  readonly approvals: Approvals;
  readonly budget: Budget;
  readonly handlers: Module["handlers"];
  /** Operations this process is working on, from before they are admitted until their outcome is recorded; dispatch keeps it. */
  readonly running: Set<string>;
}

export interface RunningDispatch extends Dispatch {
  /** Aborts what is under way. */
  stop(): void;
}

/** The life of every request. Nothing runs an operation but this. */
export const createDispatch = (parts: DispatchParts): RunningDispatch => {
  const admission = createAdmission(parts);
  const following = createFollowing(parts);
  const held = createHeldBytes();
  const requests = createConcurrency(limits.concurrentRequestsPerPrincipal, "requests");
  const open = createConcurrency(limits.concurrentStreamsPerPrincipal, "streams");
  const anonymous = anonymousOf(parts.accountId);
  const recorder = createRecorder(parts);
  const observe = createObserve({ ...parts, recorder });
  const stopping = new AbortController();

  const dispatch = async (request: DispatchRequest): Promise<Outcome> => {
    const operation: Operation = operations[request.operation];
    const progress = beginProgress(parts, request, anonymous);
    const serving = serveOrFail(request, operation, progress);
    const first = await Promise.race([serving, progress.early.promise]);
    if (!(first instanceof HoldfastError)) return first;
    // However long the operation takes from here, it ends and is recorded by itself.
    serving
      .then((late) => (late.ok ? letGo(late.result) : undefined))
      .catch((error: unknown) => parts.logger.warn("a late answer was not let go", { error }));
    return failed(progress, first);
  };

  const serveOrFail = async (
    request: DispatchRequest,
    operation: Operation,
    progress: Progress,
  ): Promise<Outcome> => {
    try {
      return await serve(request, operation, progress);
    } catch (error) {
      progress.leave();
      const failure = asHoldfastError(error, parts.logger, progress.operationId);
      if (!progress.admitted) recorder.refused(progress, failure);
      return failed(progress, failure);
    }
  };

  const failed = (progress: Progress, error: HoldfastError): Outcome => ({
    ok: false,
    operationId: progress.operationId,
    rate: progress.rate,
    error,
    retryAfterMs: retryAfter(error, progress.rate),
  });

  const serve = async (
    request: DispatchRequest,
    operation: Operation,
    progress: Progress,
  ): Promise<Outcome> => {
    const handler = parts.handlers[request.operation] as Handler<OperationName> | undefined;
    stopping.signal.throwIfAborted();

    // identify
    if (operation.scope !== "public")
      progress.principal = await parts.authority.identify(request.credential, request.source);
    const principal = progress.principal;
    const subject = subjectOf(progress);
    const entered = request.entrance?.claim();
    if (entered) progress.leave = entered.leave;
    progress.rate = entered ? { ...entered.rate, allowed: true } : parts.rate.take(subject);
    if (!progress.rate.allowed)
      throw new HoldfastError("rate_limited", "more requests than the window allows");
    if (!handler || !offers(principal, operation))
      throw new HoldfastError("not_found", `there is no operation ${operation.name} for this principal`);

    const leave = entered?.leave ?? (operation.reply === "json" ? requests : open).enter(subject);
    const holding = held.begin(subject);
    const followed = following.follow({
      principal,
      operation,
      signals: [request.signal, stopping.signal],
      ended: (error) => {
        progress.endedBy = error;
        if (!progress.done) progress.early.resolve(error);
      },
    });
    progress.leave = () => {
      leave();
      holding.release();
      followed.end();
    };

    // validate
    const params = validate(operation, request, await request.input(holding.take));
    // Its caller has been refused already, while the body was on its way: nothing is begun.
    if (progress.endedBy) throw progress.endedBy;
    progress.digest = inputDigest(operation.name, params);
    const context: OperationContext = {
      operationId: progress.operationId,
      operation: request.operation,
      principal,
      source: request.source,
      idempotencyKey: operation.idempotent ? (request.idempotencyKey ?? null) : null,
      startedAtMs: progress.startedAtMs,
      signal: followed.signal,
      body: operation.body === "bytes" ? (request.body ?? null) : null,
      lastEventId: request.lastEventId ?? null,
    };
    const answered = (result: Result, replayed: boolean, expiresAtMs: number | null): Outcome => ({
      ok: true,
      operationId: progress.operationId,
      rate: progress.rate,
      result,
      principal,
      replayed,
      idempotencyExpiresAtMs: expiresAtMs,
    });
    const admit = admission.begin({ request, operation, handler, context, params, digest: progress.digest });

    const pass = async (): Promise<Reservation | Replayed> => {
      // kill switch
      await parts.killSwitch.check(context, params);

      // authorize
      authorize(principal, operation, progress.startedAtMs);

      // Asking a human and reserving money are effects: a repeat must be known as one before them.
      const effects = parts.approvals.report.enforced || parts.budget.report.enforced;
      const replayed = effects ? await admit.replay() : undefined;
      if (replayed) return replayed;

      // approve
      await parts.approvals.require(context, params);

      // reserve budget
      return parts.budget.reserve(context, params);
    };

    // replay? A kept answer stands, whatever the stages say by now. A fresh key is not looked for first, that would be one flight more on the
    // path of every change: who has it already is found when a stage refuses, or when the key is claimed below.
    const passed = await pass().catch(async (refusal: unknown) => {
      const replayed = await admit.replay();
      if (!replayed) throw refusal;
      return replayed;
    });
    if ("result" in passed) {
      progress.leave();
      return answered(passed.result, true, passed.expiresAtMs);
    }
    const reservation = passed;

    if (operation.consequence === "observe") {
      const result = await observe(progress, reservation, () => handler.run(context, params, {}));
      return answered(result, false, null);
    }

    // record admitted
    parts.running.add(progress.operationId);
    const begun = recorder.begun(progress, null);
    const took = (): number => recorder.took(progress);
    const admitted = await admit.record(begun, reservation, took).catch(async (error: unknown) => {
      parts.running.delete(progress.operationId);
      await reservation.release();
      throw error;
    });
    if (admitted.kind === "replayed") {
      parts.running.delete(progress.operationId);
      await reservation.release();
      progress.leave();
      return answered(admitted.result, true, admitted.expiresAtMs);
    }
    progress.admitted = true;
    if (admitted.value.done) {
      progress.done = true;
      parts.running.delete(progress.operationId);
      progress.leave();
      return answered(admitted.value.done, false, admit.expiresAtMs);
    }
    const leftMs = limits.answerMs - recorder.took(progress);
    const cancelAnswer = handler.goesOn
      ? parts.clock.after(Math.max(0, leftMs), () => progress.early.resolve(stillRunning(context)))
      : () => {};
    const settleOnce = async (result: Result | undefined, error: unknown): Promise<void> => {
      try {
        await admit.settle({
          admitted: admitted.value,
          result,
          error,
          reservation,
          durationMs: recorder.took(progress),
        });
      } finally {
        cancelAnswer();
        parts.running.delete(progress.operationId);
        progress.leave();
      }
    };

    // run
    let result: Result;
    try {
      result = await handler.run(context, params, admitted.value);
      progress.done = true;
    } catch (error) {
      await settleOnce(undefined, error);
      throw error;
    }

    // settle and record the outcome, one transaction; a stream's at its end
    if ("output" in result) await settleOnce(result, undefined);
    else
      result = untilEnd(
        result,
        (error) => settleOnce(error === undefined ? result : undefined, error),
        parts.logger,
      );

    // reply
    return answered(result, false, admit.expiresAtMs);
  };

  const refusedAtDoor = (principal: Principal, source: Source, refusal: HoldfastError): void =>
    recorder.refused(askedOf(parts, `${source.door}.request`, principal, source), refusal);

  return Object.assign(dispatch, {
    identify: (credential: Credential, source: Source) =>
      parts.authority.identify(credential, source).catch((error: unknown) => {
        if (error instanceof HoldfastError) refusedAtDoor(anonymous, source, error);
        throw error;
      }),
    enter: createEntrances({ ...parts, requests, streams: open, following, refused: refusedAtDoor }),
    hold: (principal: Principal) => held.begin(principal.id),
    offers: (principal: Principal, name: OperationName) =>
      parts.handlers[name] !== undefined && offers(principal, operations[name]),
    stop: () => {
      stopping.abort(new HoldfastError("unavailable", "control is shutting down"));
      following.stop();
    },
  });
};

const stillRunning = ({ operation, operationId, idempotencyKey }: OperationContext): HoldfastError =>
  new HoldfastError(
    "operation_running",
    `${operation} takes longer than ${limits.answerMs / 1000} s and goes on; ${
      idempotencyKey === null
        ? "look at what it changes, it came without an idempotency key"
        : "the same request with the same idempotency key answers its result"
    }`,
    { operation_id: operationId, retry_after_ms: 10_000 },
  );
