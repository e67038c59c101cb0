import type { IncomingMessage, ServerResponse } from "node:http";
import { limits, type Operation, operations, type OperationName } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { Outcome } from "../../domain/dispatch.ts";
import { timestamp } from "../../lib/timestamp.ts";
import { drain, isUnread } from "./body.ts";
import { sessionCookie } from "./credential.ts";
import { attachment, entityTag } from "./headers.ts";
import { problemOf, rateHeaders } from "./problem.ts";
import { sendBytes, sendEvents } from "./send.ts";

export interface ReplyParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** What people and clients are told to use; decides about the cookie's name and `Secure`. */
  readonly address: URL;
}

/** Sends an outcome as HTTP. Resolves when it was handed over, for streams when they have ended. */
export const sendOutcome = async (
  parts: ReplyParts,
  name: OperationName,
  outgoing: ServerResponse<IncomingMessage>,
  outcome: Outcome,
  headOnly: boolean,
): Promise<void> => {
  if (!outcome.ok) {
    const { status, headers, body } = problemOf(outcome.error, outcome);
    return sendText(parts.clock, outgoing, status, headers, body);
  }
  const operation: Operation = operations[name];
  const { result } = outcome;
  const headers = headersOf(outcome);
  if ("bytes" in result) {
    const etag = result.version === undefined ? undefined : entityTag(result.version);
    return sendBytes(
      parts,
      outgoing,
      result,
      {
        ...headers,
        "accept-ranges": "bytes",
        ...(result.fileName === undefined ? {} : { "content-disposition": attachment(result.fileName) }),
        ...(etag === undefined ? {} : { etag }),
      },
      headOnly,
    );
  }
  if ("events" in result) return sendEvents(parts, outgoing, result, headers);
  if ("terminal" in result) {
    result.abandon();
    return sendText(
      parts.clock,
      outgoing,
      426,
      { ...headers, upgrade: "websocket", connection: "upgrade" },
      "",
    );
  }
  const output: Readonly<Record<string, unknown>> = result.output;
  const version = operation.versioned ? output["version"] : undefined;
  const cookie = cookieOf(parts, name, output);
  sendText(
    parts.clock,
    outgoing,
    name.endsWith(".create") ? 201 : 200,
    {
      ...headers,
      "content-type": "application/json",
      ...(typeof version === "string" ? { etag: `"${version}"` } : {}),
      ...(cookie === undefined ? {} : { "set-cookie": cookie }),
    },
    `${JSON.stringify(output)}\n`,
  );
};

/** A whole reply. Where the request's body was not read to its end the connection ends with it. */
export const sendText = (
  clock: Clock,
  outgoing: ServerResponse<IncomingMessage>,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void => {
  const unread = isUnread(outgoing.req);
  // Nothing of ours is to be framed, sniffed or told to other sites.
  outgoing.writeHead(status, {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-length": String(Buffer.byteLength(body)),
    ...headers,
    ...(unread ? { connection: "close" } : {}),
  });
  if (!unread) return void outgoing.end(body);
  outgoing.write(body);
  drain(outgoing.req, clock, () => outgoing.end());
};

const headersOf = (outcome: Outcome & { readonly ok: true }): Record<string, string> => ({
  "cache-control": "no-store",
  "operation-id": outcome.operationId,
  ...(outcome.rate ? rateHeaders(outcome.rate) : {}),
  ...(outcome.replayed ? { "idempotency-replayed": "true" } : {}),
  ...(outcome.idempotencyExpiresAtMs === null
    ? {}
    : { "idempotency-expires": timestamp(outcome.idempotencyExpiresAtMs) }),
});

const cookieOf = (
  parts: ReplyParts,
  name: OperationName,
  output: Readonly<Record<string, unknown>>,
): string | undefined => {
  if (name === "session.delete") return sessionCookie(parts.address, "", 0);
  if (name !== "session.create" && name !== "session.enrol") return undefined;
  const token = output["token"];
  return typeof token === "string"
    ? sessionCookie(parts.address, token, Math.floor(limits.sessionMs / 1000))
    : undefined;
};
