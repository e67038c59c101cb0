import { keyHeader } from "@holdfast/contract";

/** What a request's header is to the gateway. Names that are not listed go on to the app as they came. */
export type RequestField =
  | "host"
  | "length"
  | "coding"
  | "connection"
  | "upgrade"
  | "expect"
  | "cookie"
  | "key"
  | "authorization"
  | "referer"
  | "forwarded_for"
  /** Between two neighbours only, or said by us alone: never goes on. */
  | "dropped"
  /** Goes on, and we look at it too. */
  | "noted";

export const requestFields: ReadonlyMap<string, RequestField> = new Map<string, RequestField>([
  ["host", "host"],
  ["content-length", "length"],
  ["transfer-encoding", "coding"],
  ["connection", "connection"],
  ["upgrade", "upgrade"],
  ["expect", "expect"],
  ["cookie", "cookie"],
  [keyHeader, "key"],
  ["authorization", "authorization"],
  ["referer", "referer"],
  ["x-forwarded-for", "forwarded_for"],
  ["keep-alive", "dropped"],
  ["proxy-connection", "dropped"],
  ["proxy-authorization", "dropped"],
  ["proxy-authenticate", "dropped"],
  ["te", "dropped"],
  ["trailer", "dropped"],
  ["http2-settings", "dropped"],
  ["forwarded", "dropped"],
  ["x-real-ip", "dropped"],
  ["accept", "noted"],
  ["origin", "noted"],
  ["sec-fetch-site", "noted"],
  ["sec-fetch-mode", "noted"],
  ["sec-fetch-dest", "noted"],
]);

/** What only a proxy says of a request; a visitor's own are never passed on. */
export const isProxysOwn = (name: string): boolean => name.startsWith("x-forwarded-");

/**
 * Headers by which some frameworks take another method or path than the request line's. A visitor who was let in by a rule about exactly
 * those does not get to send them.
 */
export const overrides: ReadonlySet<string> = new Set([
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-method",
  "x-original-uri",
  "x-original-url",
  "x-rewrite-url",
]);

const neverHopByHop: ReadonlySet<string> = new Set([
  "accept",
  "authorization",
  "content-encoding",
  "content-length",
  "content-range",
  "content-type",
  "cookie",
  "expect",
  "forwarded",
  keyHeader,
  "host",
  "if-match",
  "if-none-match",
  "if-unmodified-since",
  "location",
  "origin",
  "range",
  "referer",
  "set-cookie",
  "transfer-encoding",
  "user-agent",
  "www-authenticate",
  "x-real-ip",
]);

/** Whether `Connection` may name this header, that is, have it left out. What decides about a request never is between neighbours only. */
export const mayBeHopByHop = (name: string): boolean =>
  !neverHopByHop.has(name) && !name.startsWith("sec-") && !isProxysOwn(name);

/** Headers of an answer that end at the gateway, whatever the app means by them. */
export const droppedOfAnswers: ReadonlySet<string> = new Set([
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authentication-info",
  "te",
  "trailer",
  "upgrade",
  // Would lead browsers around the gateway, to another port of the host.
  "alt-svc",
  // Would let a worker under one path of the origin watch the others, where tickets are traded.
  "service-worker-allowed",
]);
