import type { IncomingMessage, ServerResponse } from "node:http";
import { HoldfastError, limits, type Operation, type OperationName } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { DispatchRequest } from "../../domain/dispatch.ts";
import type { Credential } from "../../domain/principal.ts";
import { type BodyReader, readBytes, readJson } from "./body.ts";
import { credentialOf } from "./credential.ts";
import { idempotencyKeyOf, ifMatchOf, rangeOf } from "./headers.ts";
import type { HostRules } from "./hosts.ts";

/**
 * The request of one operation as dispatch takes it, from its head: the body is read when dispatch asks for it. Throws for what is no
 * request of ours; nothing is judged here beyond form.
 */
export const dispatchRequestOf = (
  parts: { readonly hosts: HostRules; readonly cookieName: string },
  operation: Operation,
  body: BodyReader,
  path: Readonly<Record<string, string>>,
  signal: AbortSignal,
): DispatchRequest => {
  const { incoming } = body;
  const { headers } = incoming;
  const credential = credentialOf(
    { authorization: headers.authorization, cookie: headers.cookie },
    parts.cookieName,
  );
  if (credential.kind === "cookie") parts.hosts.requireSameOrigin(originHeaders(incoming));
  const inBody = operation.body === "json" && !["GET", "DELETE"].includes(operation.route.method);
  const { outside } = operation;
  const mostBytes =
    outside?.bodyBytes ?? (operation.scope === "public" ? limits.publicBodyBytes : limits.jsonBodyBytes);
  const idempotencyKey = idempotencyKeyOf(single(headers["idempotency-key"]));
  const ifMatch = ifMatchOf(headers["if-match"]);
  const lastEventId = single(headers["last-event-id"]);
  return {
    operation: operation.name as OperationName,
    input: async (take) =>
      withPath(
        inBody
          ? fromOutside(operation, credential, await readJson(body, mostBytes, take))
          : queryOf(operation, incoming),
        path,
      ),
    credential,
    source: sourceOf(incoming),
    signal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(ifMatch === undefined ? {} : { ifMatch }),
    ...(lastEventId === undefined ? {} : { lastEventId: lastEventId.slice(0, 100) }),
    ...(operation.body === "bytes" ? { body: readBytes(body) } : {}),
  };
};

export const sourceOf = (incoming: IncomingMessage): DispatchRequest["source"] => ({
  door: "http",
  address: incoming.socket.remoteAddress ?? "unknown",
});

export const originHeaders = (incoming: IncomingMessage) => ({
  host: incoming.headers.host ?? "",
  origin: incoming.headers.origin,
  fetchSite: single(incoming.headers["sec-fetch-site"]),
});

/** The body of a request that is answered by `outgoing`. */
export const bodyOf = (outgoing: ServerResponse<IncomingMessage>, clock: Clock): BodyReader => ({
  incoming: outgoing.req,
  clock,
  invite: () => {
    if (outgoing.req.headers.expect !== undefined && !outgoing.headersSent) outgoing.writeContinue();
  },
});

/** Aborts when the caller goes away before the reply is complete. */
export const callerSignal = (outgoing: ServerResponse): AbortSignal => {
  const controller = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished)
      controller.abort(new HoldfastError("unavailable", "the caller went away"));
  });
  return controller.signal;
};

const queryOf = (operation: Operation, incoming: IncomingMessage): Record<string, string> => {
  const target = incoming.url ?? "";
  const query = target.includes("?") ? target.slice(target.indexOf("?") + 1) : "";
  const fields: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in fields)
      throw new HoldfastError("invalid_input", `the query gives ${name} more than once`, {
        issues: [{ path: [name], message: "give it once" }],
      });
    fields[name] = value;
  }
  // A part of what may be another version by now is not what `If-Range` asks for: without one, all of it is the answer (RFC 9110 §13.1.5).
  const asksPart = operation.reply === "bytes" && incoming.headers["if-range"] === undefined;
  const range = asksPart ? rangeOf(incoming.headers.range) : undefined;
  const { shape } = operation.input;
  if (!range || !("offset" in shape) || "offset" in fields || "length" in fields) return { ...fields };
  return {
    ...fields,
    offset: String(range.offset),
    ...(range.length === undefined ? {} : { length: String(range.length) }),
  };
};

/** What a program sends that knows nothing of us, as the operation's fields. */
const fromOutside = (operation: Operation, credential: Credential, body: unknown): unknown => {
  const { outside } = operation;
  if (!outside) return body;
  const fields =
    typeof body === "object" && body !== null && !Array.isArray(body)
      ? (body as Record<string, unknown>)
      : undefined;
  const isOurs = fields && Object.keys(fields).every((name) => Object.hasOwn(operation.input.shape, name));
  const given = isOurs ? fields : { [outside.body]: body };
  // Who gives it in the body may be a client of ours, which sends its own key as Bearer token with everything.
  if (credential.kind !== "bearer" || Object.hasOwn(given, outside.token)) return given;
  return { ...given, [outside.token]: credential.token };
};

const withPath = (fields: unknown, path: Readonly<Record<string, string>>): unknown => {
  if (fields === null || typeof fields !== "object" || Array.isArray(fields)) return fields;
  for (const [name, value] of Object.entries(path))
    if (Object.hasOwn(fields, name) && (fields as Record<string, unknown>)[name] !== value)
      throw new HoldfastError("invalid_input", `${name} in the path and ${name} in the request differ`, {
        issues: [{ path: [name], message: "give it in the path alone" }],
      });
  return { ...fields, ...path };
};

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(",") : header;
