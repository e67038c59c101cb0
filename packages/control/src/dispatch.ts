import { HoldfastError, limits, operations, type Operation, type OperationName } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger, NewId } from "@holdfast/kit";
import { authorize, offers } from "./authority/authorize.ts";
import type { Authority } from "./authority/identify.ts";
import { createHeldBytes } from "./authority/held.ts";
import { createConcurrency, type RateLimiter } from "./authority/rate.ts";
import { createAdmission, type Replayed } from "./dispatch/admission.ts";
import { asHoldfastError } from "./dispatch/failure.ts";
import { createEntrances } from "./dispatch/entrance.ts";
import { createFollowing } from "./dispatch/follow.ts";
import { letGo, untilEnd } from "./dispatch/streams.ts";
import { validate } from "./dispatch/validate.ts";
import type { Dispatch, DispatchRequest, Outcome, RateState } from "./domain/dispatch.ts";
import type { Handler, OperationContext, Result } from "./domain/handler.ts";
import type { Module } from "./domain/module.ts";
import type { Approvals, Budget, KillSwitch, Reservation } from "./domain/ports.ts";
import type { Principal } from "./domain/principal.ts";
import type { RecordSink } from "./domain/record-sink.ts";
import { inputDigest } from "./lib/digest.ts";
import { networkOf } from "./lib/network.ts";
import type { NewRecord } from "./store/records.ts";
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

/** What is known of a request so far; a refusal is recorded with as much of it as there is. */
interface Progress {
  readonly operationId: string;
  readonly startedAtMs: number;
  readonly startedAt: number;
  principal: Principal;
  rate: (RateState & { readonly allowed: boolean }) | null;
  digest: Buffer;
  /** True once an admitted record exists: the outcome is recorded there, not as a refusal. */
  admitted: boolean;
  /** Resolved when the credential ends while the operation is under way. */
  readonly ended: PromiseWithResolvers<HoldfastError>;
  /** True once the operation has been done: its answer stands, also where it ended the caller's own credential. */
  done: boolean;
  leave: () => void;
}

/** The life of every request. Nothing runs an operation but this. */
export const createDispatch = (parts: DispatchParts): RunningDispatch => {
  const admission = createAdmission(parts);
  const following = createFollowing(parts);
  const held = createHeldBytes();
  const requests = createConcurrency(limits.concurrentRequestsPerPrincipal, "requests");
  const open = createConcurrency(limits.concurrentStreamsPerPrincipal, "streams");
  const anonymous = createAnonymous(parts.accountId);
  const stopping = new AbortController();

  const dispatch = async (request: DispatchRequest): Promise<Outcome> => {
    const operation: Operation = operations[request.operation];
    const progress: Progress = {
      operationId: parts.ids("operation"),
      startedAtMs: parts.clock.now(),
      startedAt: parts.clock.monotonic(),
      principal: anonymous,
      rate: null,
      digest: emptyDigest,
      admitted: false,
      ended: Promise.withResolvers(),
      done: false,
      leave: () => {},
    };
    const serving = serveOrFail(request, operation, progress);
    const first = await Promise.race([serving, progress.ended.promise]);
    if (!(first instanceof HoldfastError)) return first;
    // Whose key has ended gets no answer, however long the operation takes to notice. It ends and is recorded by itself.
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
      // Refusals are recorded at the rate of requests: a flood of them must not fill the disk.
      const who =
        progress.principal === anonymous ? networkOf(request.source.address) : progress.principal.id;
      if (!progress.admitted && parts.rate.take(`refusals ${who}`).allowed) {
        const refused = { ...recordOf(request, progress, null), outcome: "refused" as const };
        parts.records.refuse({ ...refused, error: failure.code, durationMs: since(progress) });
      }
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
    const subject = principal === anonymous ? `address ${networkOf(request.source.address)}` : principal.id;
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
        if (!progress.done) progress.ended.resolve(error);
      },
    });
    progress.leave = () => {
      leave();
      holding.release();
      followed.end();
    };

    // validate
    const params = validate(operation, request, await request.input(holding.take));
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
      // Looking is recorded in batches: no durable statement on its path.
      parts.records.reserve();
      progress.admitted = true;
      const finish = (error: unknown, target: string | null): void => {
        const failure =
          error === undefined ? null : asHoldfastError(error, parts.logger, progress.operationId);
        parts.records.add({
          ...recordOf(request, progress, target),
          outcome: failure ? "failed" : "succeeded",
          error: failure?.code ?? null,
          durationMs: since(progress),
        });
        progress.leave();
      };
      let result: Result;
      try {
        result = await handler.run(context, params, {});
        progress.done = true;
      } catch (error) {
        finish(error, null);
        throw error;
      }
      const target = result.target ?? null;
      return answered(
        untilEnd(result, (error) => Promise.resolve(finish(error, target)), parts.logger),
        false,
        null,
      );
    }

    // record admitted
    parts.running.add(progress.operationId);
    const admitted = await admit.record(recordOf(request, progress, null)).catch(async (error: unknown) => {
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
    const settleOnce = async (result: Result | undefined, error: unknown): Promise<void> => {
      try {
        await admit.settle({
          admitted: admitted.value,
          result,
          error,
          reservation,
          durationMs: since(progress),
        });
      } finally {
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

  const since = (progress: Progress): number => Math.round(parts.clock.monotonic() - progress.startedAt);

  const recordOf = (request: DispatchRequest, progress: Progress, target: string | null): NewRecord => ({
    id: progress.operationId,
    accountId: progress.principal.accountId,
    nodeId: parts.nodeId,
    operation: request.operation,
    principalId: progress.principal.id,
    credentialId: progress.principal.credentialId,
    source: `${request.source.door} ${request.source.address}`.slice(0, 100),
    target,
    inputDigest: progress.digest,
    startedAtMs: progress.startedAtMs,
  });

  return Object.assign(dispatch, {
    identify: (credential: DispatchRequest["credential"], source: DispatchRequest["source"]) =>
      parts.authority.identify(credential, source),
    enter: createEntrances({ rate: parts.rate, requests, streams: open, following }),
    hold: (principal: Principal) => held.begin(principal.id),
    offers: (principal: Principal, name: OperationName) =>
      parts.handlers[name] !== undefined && offers(principal, operations[name]),
    stop: () => {
      stopping.abort(new HoldfastError("unavailable", "control is shutting down"));
      following.stop();
    },
  });
};

const emptyDigest = Buffer.alloc(0);

/** A limit that knows better says so in its details; the request rate knows when there is room again. */
const retryAfter = (failure: HoldfastError, rate: RateState | null): number | null => {
  const asked = failure.details["retry_after_ms"];
  if (typeof asked === "number") return asked;
  if (failure.code === "rate_limited" && rate) return rate.resetMs;
  return failure.definition.status === 503 || failure.definition.status === 429 ? 1000 : null;
};

/** Whoever calls a public operation. */
const createAnonymous = (accountId: string): Principal => ({
  kind: "anonymous",
  id: "anonymous",
  accountId,
  name: "anonymous",
  ceilings: null,
  credentialId: "none",
  expiresAtMs: null,
  confirmedUntilMs: 0,
});
