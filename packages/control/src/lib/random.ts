import { randomBytes } from "node:crypto";

/** Bytes that nobody can guess: salts, tokens, codes. */
export const secretBytes = (count: number): Buffer => randomBytes(count);
