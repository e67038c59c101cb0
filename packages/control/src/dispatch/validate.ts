import { HoldfastError, type Operation, type OperationName, type OperationParams } from "@holdfast/contract";
import type { DispatchRequest } from "../domain/dispatch.ts";

const issuesShown = 20;

/** The operation's parameters, defaults filled in. Throws `invalid_input`; unknown fields are refused, they are most often typing errors. */
export const validate = (
  operation: Operation,
  request: DispatchRequest,
  fields: unknown,
): OperationParams<OperationName> => {
  const input = withIfMatch(operation, fields, request.ifMatch);
  const known = operation.input.shape;
  const unknown = Object.keys(input).filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > 0)
    throw new HoldfastError("invalid_input", `${operation.name} takes no ${unknown.slice(0, 5).join(", ")}`, {
      issues: unknown
        .slice(0, issuesShown)
        .map((name) => ({ path: [name], message: "not a field of this operation" })),
      fields: Object.keys(known),
    });
  const parsed = operation.input.safeParse(input);
  if (!parsed.success)
    throw new HoldfastError("invalid_input", describe(operation, parsed.error.issues), {
      issues: parsed.error.issues
        .slice(0, issuesShown)
        .map((issue) => ({ path: issue.path.map(String), message: issue.message })),
    });
  if (operation.body === "bytes" && !request.body)
    throw new HoldfastError("invalid_input", `${operation.name} takes its content as a stream of bytes`);
  return parsed.data as OperationParams<OperationName>;
};

const withIfMatch = (
  operation: Operation,
  input: unknown,
  ifMatch: string | undefined,
): Record<string, unknown> => {
  if (input === null || typeof input !== "object" || Array.isArray(input))
    throw new HoldfastError("invalid_input", `the input of ${operation.name} is one object`);
  if (ifMatch === undefined || !Object.hasOwn(operation.input.shape, "if_match"))
    return input as Record<string, unknown>;
  return { if_match: ifMatch, ...input };
};

const describe = (
  operation: Operation,
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string => {
  const [first] = issues;
  const where = first?.path.map(String).join(".") ?? "";
  return `${operation.name}: ${where === "" ? "" : `${where}: `}${first?.message ?? "the input does not fit"}`;
};
