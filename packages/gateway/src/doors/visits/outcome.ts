import { type AccessRecord, sessionCookie } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { RequestHead } from "../../head/request.ts";
import type { Exchange } from "../../proxy/exchange.ts";
import type { Failure } from "../../proxy/failure.ts";
import type { Verdict } from "../../rights/judge.ts";
import type { Traded } from "../../rights/trade.ts";
import type { Page } from "../pages/page.ts";
import type { Pages, Seer } from "../pages/pages.ts";

export type Allowed = Extract<Verdict, { readonly kind: "allowed" }>;

/** What is recorded of a visitor who hung up before an answer. */
export const visitorLeft = 499;

/**
 * Whether a right could do what a rule could not: start what visitors have started often enough, and show its owner why a service ended.
 * Only where nothing of the request was used up, and something is shown that may be one.
 */
export const mayBeOvercome = (failure: Failure, head: RequestHead): boolean =>
  (failure.kind === "crashed" || failure.kind === "not_today") &&
  head.bodyBytes === 0 &&
  (head.key !== undefined || head.session !== undefined);

/** Whether another request may follow one that we answered ourselves: nothing of it is still to come, and it was in order. */
export const takesAnother = (head: RequestHead | undefined, bodyWhole: boolean): boolean =>
  head !== undefined && head.keepAlive && (bodyWhole || head.bodyBytes === 0) && !head.misplacedKey;

/** Those who can do something about what a service does are told more of it; the others, nothing. */
export const seerOf = (allowed: Allowed | undefined): Seer | undefined => {
  const who = allowed?.right?.right.who;
  return allowed && (who === "owner" || who === "assistant") ? { slug: allowed.route.slug } : undefined;
};

/** What one is told who is not let in. */
export const pageOfVerdict = (verdict: Exclude<Verdict, Allowed>, head: RequestHead, pages: Pages): Page => {
  switch (verdict.kind) {
    case "nothing":
      return pages.nothing(head.hostHeader);
    case "refused":
      return pages.refused(head.hostHeader);
    case "cross_site":
      return pages.crossSite();
    case "unavailable":
      return pages.unavailable();
    case "too_many":
      return pages.tooMany();
  }
};

/** What comes of a ticket or a share link. */
export const pageOfTrade = (traded: Traded, head: RequestHead, pages: Pages, clock: Clock): Page => {
  if (traded === "nothing") return pages.nothing(head.hostHeader);
  if (traded === "refused") return pages.linkRefused(head.hostHeader);
  if (traded === "unavailable") return pages.unavailable();
  if (traded === "too_many") return pages.tooMany();
  const seconds = Math.max(1, Math.floor((traded.expiresAtMs - clock.now()) / 1000));
  return pages.traded(
    `${sessionCookie}=${traded.token}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`,
  );
};

/** The record of a visit that was let in; what is refused leaves no trace of a project. */
export const recordOf = (visit: {
  readonly allowed: Allowed;
  readonly head: RequestHead;
  readonly exchange: Exchange | undefined;
  readonly status: number;
  readonly startedAt: number;
  readonly clock: Clock;
}): AccessRecord => {
  const { allowed, clock, exchange, head } = visit;
  return {
    project_id: allowed.route.project_id,
    at_ms: Math.round(clock.now()),
    port: allowed.port ?? null,
    method: head.method,
    path: head.path.slice(0, 1024),
    status: visit.status,
    received_bytes: exchange?.receivedBytes ?? 0,
    sent_bytes: exchange?.sentBytes ?? 0,
    duration_ms: Math.round(clock.monotonic() - visit.startedAt),
    subject: allowed.right?.right.subject.slice(0, 60) ?? null,
  };
};
