import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";

/** What an operation can do, from looking to governing. A key's ceiling names the highest class it may use. */
export const consequences = ["observe", "recommend", "prepare", "modify", "transact", "administer"] as const;
export type Consequence = (typeof consequences)[number];

/**
 * One declaration of one operation. The REST route, OpenAPI, MCP tool, CLI verb, SDK method, console call and reference page are made
 * from it; a pin in `test/ecosystem` shows every outward change.
 */
export interface Operation<
  Name extends string = string,
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
> {
  /** `noun.verb`. The MCP tool is `noun_verb` unless `tool` says otherwise. */
  readonly name: Name;
  readonly title: string;
  /** One line, for lists and help. */
  readonly summary: string;
  /** For the model and the reference page: when to use it, what comes back, what to do next. */
  readonly description: string;
  /** A plain object. Fields named in the path come from it; the rest is the query (GET, DELETE) or the JSON body. */
  readonly input: Input;
  /** A loose object: a newer server may add fields. */
  readonly output: Output;
  readonly route: {
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    readonly path: `/v1/${string}`;
  };
  /** `bytes`: the request body is a stream, every input field comes from path and query. */
  readonly body: "json" | "bytes";
  /** `events` is SSE, `terminal` a WebSocket. MCP shows `json` ones only. */
  readonly reply: "json" | "bytes" | "events" | "terminal";
  /** Codes beyond those every operation may answer (`everywhere`). */
  readonly errors: readonly ErrorCode[];
  readonly consequence: Consequence;
  /** Takes an idempotency key: header on REST, `idempotency_key` on MCP, `--idempotency-key` on the CLI. */
  readonly idempotent: boolean;
  /** Who may call it. `owner` ones never appear to an assistant. `public` ones need no credential (signing in). */
  readonly scope: "public" | "principal" | "owner";
  /** An owner must have given the passphrase within the last five minutes. */
  readonly confirm: boolean;
  /** The reply carries `version`; updates take `if_match` (REST: ETag and If-Match). */
  readonly versioned: boolean;
  /** What it reserves from the budget: nothing yet but a name, prices come with money. */
  readonly cost: "none" | "computer_time" | "storage";
  /** Hints beyond the consequence class: repeating it changes nothing; it cannot be taken back. */
  readonly repeatable: boolean;
  readonly destructive: boolean;
  readonly tool: string | null;
  /**
   * Called by programs that know nothing of us, such as web hooks: a Bearer token is the field `token`, and a body that has none of the operation's
   * fields is all of the field `body`, which may have so many bytes.
   */
  readonly outside: { readonly token: string; readonly body: string; readonly bodyBytes: number } | null;
  readonly command: { readonly noun: string; readonly verb: string; readonly arguments: readonly string[] };
}

/** Errors that any operation may answer; `errors` of a declaration adds to them. */
export const everywhere = [
  "invalid_input",
  "malformed_request",
  "unauthenticated",
  "forbidden",
  "origin_refused",
  "rate_limited",
  "limit_reached",
  "unavailable",
  "timed_out",
  "internal",
] as const satisfies readonly ErrorCode[];

type Defaults = Pick<
  Operation,
  | "body"
  | "reply"
  | "errors"
  | "idempotent"
  | "scope"
  | "confirm"
  | "versioned"
  | "cost"
  | "repeatable"
  | "destructive"
  | "tool"
  | "outside"
>;

type Declared<Name extends string, Input extends z.ZodObject, Output extends z.ZodObject> = Omit<
  Operation<Name, Input, Output>,
  keyof Defaults
> &
  Partial<Defaults>;

export const operation = <const Name extends string, Input extends z.ZodObject, Output extends z.ZodObject>(
  declared: Declared<Name, Input, Output>,
): Operation<Name, Input, Output> => ({
  body: "json",
  reply: "json",
  errors: [],
  idempotent: false,
  scope: "principal",
  confirm: false,
  versioned: false,
  cost: "none",
  repeatable: declared.consequence === "observe",
  destructive: false,
  outside: null,
  tool:
    (declared.scope ?? "principal") === "principal" &&
    (declared.reply ?? "json") === "json" &&
    (declared.body ?? "json") === "json"
      ? declared.name.replace(".", "_")
      : null,
  ...declared,
});
