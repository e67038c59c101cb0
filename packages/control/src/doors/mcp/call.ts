import { HoldfastError, limits } from "@holdfast/contract";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Dispatch } from "../../domain/dispatch.ts";
import { capInput } from "./caps.ts";
import type { PrincipalCaller } from "./door.ts";
import { capText } from "./present/cap.ts";
import { present } from "./present/index.ts";
import type { ToolEntry } from "./tools.ts";

/** Runs one tool call through dispatch. Refusals and failures are results with `isError`: the model is to read and act on them. */
export const callTool = async (
  dispatch: Dispatch,
  { operation }: ToolEntry,
  given: Readonly<Record<string, unknown>>,
  caller: PrincipalCaller,
  signal: AbortSignal,
): Promise<CallToolResult> => {
  const { idempotency_key: key, ...rest } = given;
  const input = capInput(operation.name, operation.idempotent ? rest : given);
  const ownKey = operation.idempotent && isKey(key) ? key : undefined;
  const outcome = await dispatch({
    operation: operation.name,
    input: (take) => {
      // A reply may stream on after the door has answered: from here the call itself holds what came.
      take(caller.hold.release());
      if (operation.idempotent && ownKey === undefined && key !== undefined && key !== null)
        return Promise.reject(badKey());
      return Promise.resolve(input);
    },
    credential: { kind: "bearer", token: caller.token },
    source: { door: "mcp", address: caller.address },
    signal,
    entrance: caller.entrance,
    ...(ownKey === undefined ? {} : { idempotencyKey: ownKey }),
  });
  if (!outcome.ok) return failure(outcome.error, outcome.retryAfterMs);
  if (!("output" in outcome.result)) {
    throw new Error(`${operation.name} is a tool, so its reply must be JSON.`);
  }
  const output = outcome.result.output as Readonly<Record<string, unknown>>;
  return {
    content: [{ type: "text", text: capText(present(operation.name, output, input)) }],
    structuredContent: output,
  };
};

/** Models fill what is optional with null or nothing: that is no name of an act, and two acts would share it. */
const isKey = (key: unknown): key is string =>
  typeof key === "string" && key.length > 0 && key.length <= limits.idempotencyKeyLength;

const badKey = (): HoldfastError => {
  const message = `1 to ${limits.idempotencyKeyLength} characters, unique to this act; or leave it out`;
  return new HoldfastError("invalid_input", `idempotency_key is ${message}`, {
    issues: [{ path: ["idempotency_key"], message }],
  });
};

const failure = (error: HoldfastError, retryAfterMs: number | null): CallToolResult => {
  const { title, remedy, retryable } = error.definition;
  const lines = [
    `${error.code}: ${title}.`,
    error.message,
    `What to do next: ${remedy}`,
    ...(retryAfterMs === null ? [] : [`Wait ${Math.ceil(retryAfterMs / 1000)} s before trying again.`]),
    ...(Object.keys(error.details).length === 0 ? [] : [`Details: ${JSON.stringify(error.details)}`]),
  ];
  return {
    // Clients cut error text near 11,000 characters.
    content: [{ type: "text", text: capText(lines.join("\n"), 10_000) }],
    isError: true,
    _meta: { "holdfast/error": { code: error.code, retryable } },
  };
};
