import { createHash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): Buffer => createHash("sha256").update(data).digest();

/** Fields a caller types from memory: a digest of them could be guessed offline. */
const typedSecrets: ReadonlySet<string> = new Set(["passphrase", "code"]);

/** SHA-256 of an operation's validated input: keys in order, so equal inputs have equal digests. */
export const inputDigest = (operation: string, input: unknown): Buffer =>
  sha256(`${operation}\n${canonical(input)}`);

const canonical = (value: unknown): string => JSON.stringify(value, ordered) ?? "null";

const ordered = (key: string, value: unknown): unknown => {
  if (typedSecrets.has(key)) return undefined;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
};
