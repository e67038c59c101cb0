import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/** Seals a value under a caller's token, of which control keeps only a hash: nobody but that caller can have it opened again. */
export const sealUnder = (token: string, context: string, value: unknown): string => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", keyOf(token, context), nonce);
  const body = Buffer.concat([cipher.update(JSON.stringify(value), "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64url");
};

/** Undefined when it was sealed under another token or context. */
export const openUnder = (token: string, context: string, sealed: string): unknown => {
  const bytes = Buffer.from(sealed, "base64url");
  const decipher = createDecipheriv("aes-256-gcm", keyOf(token, context), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(12, 28));
  try {
    return JSON.parse(
      Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8"),
    ) as unknown;
  } catch {
    return undefined;
  }
};

const keyOf = (token: string, context: string): Buffer =>
  Buffer.from(hkdfSync("sha256", token, "", `holdfast sealed answer ${context}`, 32));
