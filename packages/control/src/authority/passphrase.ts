import { scrypt, timingSafeEqual, type ScryptOptions } from "node:crypto";
import { HoldfastError } from "@holdfast/contract";
import { FewAtOnce } from "../lib/few-at-once.ts";
import { secretBytes } from "../lib/random.ts";

/** OWASP's password storage cheat sheet, 2024: N = 2^16, r = 8, p = 2 (64 MiB for each hash under way). */
const ownCost = { N: 1 << 16, r: 8, p: 2, maxmem: 128 * 1024 * 1024 };
/** More than these wait for longer than their senders do. */
const line = { atOnce: 2, waiting: 64 };

/** Both throw `unavailable` when too many wait already. */
export interface Passphrases {
  hash(passphrase: string): Promise<string>;
  /** Takes as long for an owner that does not exist (`undefined`) as for a wrong passphrase. */
  verify(passphrase: string, hash: string | undefined): Promise<boolean>;
}

/** Two at a time; more wait, and not without end, so that sign-in attempts cannot take the memory. */
export const createPassphrases = (cost = ownCost): Passphrases => {
  const few = new FewAtOnce(
    line,
    () => new HoldfastError("unavailable", "too many sign-ins are under way", { part: "control" }),
  );
  const derive = (passphrase: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> =>
    few.run(
      () =>
        new Promise((resolve, reject) => {
          scrypt(passphrase.normalize("NFC"), salt, 32, options, (error, key) =>
            error ? reject(error) : resolve(key),
          );
        }),
    );

  const hash = async (passphrase: string): Promise<string> => {
    const salt = secretBytes(16);
    const key = await derive(passphrase, salt, cost);
    return `scrypt$${cost.N}$${cost.r}$${cost.p}$${salt.toString("base64url")}$${key.toString("base64url")}`;
  };

  return {
    hash,
    verify: async (passphrase, stored) => {
      const [scheme, N, r, p, salt, key] = (stored ?? "").split("$");
      if (scheme !== "scrypt" || !salt || !key) {
        await derive(passphrase, Buffer.alloc(16), cost);
        return false;
      }
      const options = { N: Number(N), r: Number(r), p: Number(p), maxmem: cost.maxmem };
      const derived = await derive(passphrase, Buffer.from(salt, "base64url"), options);
      return timingSafeEqual(derived, Buffer.from(key, "base64url"));
    },
  };
};
