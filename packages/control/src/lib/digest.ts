import { createHash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): Buffer => createHash("sha256").update(data).digest();

/** Fields a caller types from memory: a digest of them could be guessed offline. */
const typedSecrets: ReadonlySet<string> = new Set(["passphrase", "code"]);

/** SHA-256 of an operation's validated input: keys in order, so equal inputs have equal digests. */
export const inputDigest = (operation: string, input: Readonly<Record<string, unknown>>): Buffer =>
  // Fields of the operation alone: an environment variable may be called `code` too.
  sha256(
    `${operation}\n${canonical(Object.fromEntries(Object.entries(input).filter(([name]) => !typedSecrets.has(name))))}`,
  );

const canonical = (value: unknown): string => JSON.stringify(value, ordered) ?? "null";

const ordered = (_key: string, value: unknown): unknown => {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
};
