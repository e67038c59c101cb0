import {
  HoldfastError,
  limits,
  type Operation,
  operationNames,
  operations,
  type OperationName,
} from "@holdfast/contract";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import type { Dispatch } from "../../domain/dispatch.ts";
import { asHoldfastError } from "../../dispatch/failure.ts";
import { letGo } from "../../dispatch/streams.ts";
import { isUnread, readWhole } from "./body.ts";
import { refuseCrowdedJson } from "./crowd.ts";
import type { HostRules } from "./hosts.ts";
import { problemOf } from "./problem.ts";
import { type ReplyParts, sendOutcome, sendText } from "./reply.ts";
import { bodyOf, callerSignal, dispatchRequestOf, originHeaders, sourceOf } from "./request.ts";

export interface RouteParts extends ReplyParts {
  readonly dispatch: Dispatch;
  readonly hosts: HostRules;
  readonly cookieName: string;
  /** Pages beside the operations: path to what it answers. */
  readonly pages: Readonly<Record<string, Page>>;
  /** What a browser gets at the root. To programs there is nothing. */
  readonly front: () => Promise<{ readonly body: string; readonly policy: string }>;
  readonly mcp?: McpDoor;
}

/** `query` gives a field of the query, as it was sent. */
export type Page = (
  query: (name: string) => string | undefined,
) => Promise<{ readonly contentType: string; readonly body: string }>;

/** Answers a request from its head where it can; else it asks for the body, which counts with `take`. */
export type McpDoor = (
  request: Request,
  address: string,
  readBody: (take: (bytes: number) => void) => Promise<Uint8Array>,
) => Promise<Response>;

type Bindings = { Bindings: HttpBindings };

/** Tells the adapter that the reply went straight to the socket, which spares it a web stream. */
const sent = (): Response => new Response(null, { headers: { "x-hono-already-sent": "true" } });

/** Every route there is: the operations' from their declarations, the pages, and the MCP door. */
export const createRoutes = (parts: RouteParts): Hono<Bindings> => {
  const app = new Hono<Bindings>();
  const refuse = (context: Context<Bindings>, error: unknown, allow?: string): Response => {
    const { outgoing } = context.env;
    const failure = asHoldfastError(error, parts.logger, "none");
    const { status, headers, body } = problemOf(failure);
    if (outgoing.headersSent) outgoing.destroy();
    else sendText(parts.clock, outgoing, status, allow === undefined ? headers : { ...headers, allow }, body);
    return sent();
  };
  app.onError((error, context) => refuse(context, error));
  app.notFound((context) =>
    refuse(context, new HoldfastError("not_found", `there is nothing at ${context.req.path}`)),
  );
  app.use("*", async (context, next) => {
    parts.hosts.check(originHeaders(context.env.incoming));
    await next();
  });

  const { mcp } = parts;
  if (mcp)
    app.all("/mcp", async (context) => {
      const { outgoing } = context.env;
      const { address } = sourceOf(outgoing.req);
      const response = await mcp(context.req.raw, address, async (take) => {
        const body = await readWhole(bodyOf(outgoing, parts.clock), limits.jsonBodyBytes, take);
        refuseCrowdedJson(body);
        return body;
      });
      if (!isUnread(outgoing.req)) return response;
      sendText(
        parts.clock,
        outgoing,
        response.status,
        Object.fromEntries(response.headers),
        await response.text(),
      );
      return sent();
    });
  app.get("/", async (context, next) => {
    if (!/(^|,) *text\/html\b/i.test(context.req.header("accept") ?? "")) return next();
    const { body, policy } = await parts.front();
    sendText(
      parts.clock,
      context.env.outgoing,
      200,
      {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        vary: "accept",
        "content-security-policy": policy,
      },
      body,
    );
    return sent();
  });
  for (const [path, page] of Object.entries(parts.pages))
    app.get(path, async (context) => {
      const { contentType, body } = await page((name) => context.req.query(name));
      sendText(
        parts.clock,
        context.env.outgoing,
        200,
        { "content-type": contentType, "cache-control": "no-cache", ...pagePolicy },
        body,
      );
      return sent();
    });

  const methods = new Map<string, string[]>();
  for (const name of operationNames) {
    const { route, reply }: Operation = operations[name];
    const path = honoPath(route.path);
    const known = methods.get(path) ?? [];
    const head = route.method === "GET" && (reply === "json" || reply === "bytes") ? ["HEAD"] : [];
    methods.set(path, [...known, route.method, ...head]);
    app.on(route.method, path, (context) => serve(parts, name, context));
  }
  for (const [path, allowed] of [
    ...methods,
    ...Object.keys(parts.pages).map((path) => [path, ["GET", "HEAD"]] as const),
  ])
    app.all(path, (context) =>
      refuse(
        context,
        new HoldfastError(
          "method_not_allowed",
          `${context.env.incoming.method} does not go with ${context.req.path}`,
          {
            allowed,
          },
        ),
        allowed.join(", "),
      ),
    );
  return app;
};

const serve = async (
  parts: RouteParts,
  name: OperationName,
  context: Context<Bindings>,
): Promise<Response> => {
  const { incoming, outgoing } = context.env;
  const operation: Operation = operations[name];
  const headOnly = incoming.method === "HEAD";
  if (headOnly && operation.reply !== "json" && operation.reply !== "bytes")
    throw new HoldfastError("method_not_allowed", "a stream has no HEAD", { allowed: ["GET"] });
  const request = dispatchRequestOf(
    parts,
    operation,
    bodyOf(outgoing, parts.clock),
    context.req.param(),
    callerSignal(outgoing),
  );
  const outcome = await parts.dispatch(request);
  try {
    await sendOutcome(parts, name, outgoing, outcome, headOnly);
  } catch (error) {
    // A stream whose reply could not even begin: nobody else would end it.
    if (outcome.ok) await letGo(outcome.result);
    throw error;
  }
  return sent();
};

/** `{computer}` as Hono writes it. */
const honoPath = (path: string): string => path.replaceAll(/\{([a-z_]+)\}/g, ":$1");

/** Pages hold text and style, nothing that runs or loads. */
const pagePolicy = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
};
