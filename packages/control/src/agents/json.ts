import type { z } from "zod";
import { ProtocolViolation } from "./violation.ts";

/** Payloads are at most one frame, so the work is bounded. What does not fit the schema is a violation, not an exception of ours. */
export const parseJson = <S extends z.ZodType>(schema: S, payload: Buffer, what: string): z.output<S> => {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString("utf8"));
  } catch (cause) {
    throw new ProtocolViolation(`${what} is not JSON`, { cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ProtocolViolation(`${what} does not fit: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`);
};

export const toJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
