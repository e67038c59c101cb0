import { plainLoginCode } from "@holdfast/contract";
import { sha256 } from "../lib/digest.ts";
import { secretBytes } from "../lib/random.ts";

/**
 * `hf_` keys, `hfs_` sessions, `hfe_` keys of schedules that are started by events; of a project's origin `hft_` tickets, `hfl_` share links
 * and `hfv_` visits. 256 random bits, so a plain SHA-256 is stored. The prefix lets scanners find leaked ones.
 */
export type NewToken = (prefix: "hf_" | "hfs_" | "hfe_" | "hft_" | "hfl_" | "hfv_") => {
  readonly token: string;
  readonly hash: Buffer;
};

export const createTokens =
  (random: (bytes: number) => Buffer = secretBytes): NewToken =>
  (prefix) => {
    const token = `${prefix}${random(32).toString("base64url")}`;
    return { token, hash: sha256(token) };
  };

export const tokenKind = (token: string): "key" | "session" | undefined => {
  if (/^hf_[A-Za-z0-9_-]{43}$/.test(token)) return "key";
  if (/^hfs_[A-Za-z0-9_-]{43}$/.test(token)) return "session";
  return undefined;
};

const codeAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** One-time codes are read and typed by people: 100 random bits as `xxxxx-xxxxx-xxxxx-xxxxx`. */
export const newLoginCode = (random: (bytes: number) => Buffer = secretBytes): string => {
  const letters = [...random(20)].map((byte) => codeAlphabet[byte & 31] ?? "0").join("");
  return (letters.match(/.{5}/g) ?? []).join("-");
};

export const loginCodeHash = (code: string): Buffer => sha256(`code ${plainLoginCode(code)}`);
