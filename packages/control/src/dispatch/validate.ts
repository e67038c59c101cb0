import { HoldfastError, type Operation, type OperationName, type OperationParams } from "@holdfast/contract";
import type { DispatchRequest } from "../domain/dispatch.ts";

const issuesShown = 20;
/** Values in one input, inner ones counted: more than any operation takes (4,096 arguments, 256 variables). */
const mostValues = 20_000;

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
  refuseTooManyValues(operation, input);
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

/** Four megabytes of tiny values that do not fit would each get a complaint of its own, and everybody waited for seconds. */
const refuseTooManyValues = (operation: Operation, input: unknown): void => {
  const waiting: unknown[] = [input];
  let values = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === null || typeof next !== "object") continue;
    const inner: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    values += inner.length;
    if (values > mostValues)
      throw new HoldfastError("invalid_input", `${operation.name} takes no more than ${mostValues} values`, {
        limit: mostValues,
      });
    // One by one: as arguments of one call they could be too many.
    for (const value of inner) if (typeof value === "object") waiting.push(value);
  }
};

const withIfMatch = (
  operation: Operation,
  input: unknown,
  ifMatch: string | undefined,
): Record<string, unknown> => {
  if (input === null || typeof input !== "object" || Array.isArray(input))
    throw new HoldfastError("invalid_input", `the input of ${operation.name} is one object`);
  const fields = input as Record<string, unknown>;
  if (ifMatch === undefined) return fields;
  // A condition that is not looked at would be taken for one that holds.
  if (!Object.hasOwn(operation.input.shape, "if_match"))
    throw conditionRefused(`${operation.name} takes no If-Match`);
  if (fields["if_match"] !== undefined && fields["if_match"] !== ifMatch)
    throw conditionRefused("If-Match and if_match differ");
  return { ...fields, if_match: ifMatch };
};

const conditionRefused = (message: string): HoldfastError =>
  new HoldfastError("invalid_input", message, { issues: [{ path: ["if_match"], message }] });

const describe = (
  operation: Operation,
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string => {
  const [first] = issues;
  const where = first?.path.map(String).join(".") ?? "";
  return `${operation.name}: ${where === "" ? "" : `${where}: `}${first?.message ?? "the input does not fit"}`;
};
