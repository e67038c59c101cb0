import { randomBytes, randomUUID } from "node:crypto";

/** An idempotency key that no other call has. */
export const newKey = (): string => randomUUID();

/** Letters for a file's name beside another. */
export const newSuffix = (): string => randomBytes(4).toString("hex");
