import { createCipheriv, createHash, generateKeyPairSync, randomBytes, scrypt } from "node:crypto";

/** 64 MiB and about 0.2 s: what a guess costs. */
const cost = { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 1024 * 1024 } as const;

export interface NewOwnerKey {
  /** 32 bytes, base64url. */
  readonly publicKey: string;
  /** The private key, readable only with the passphrase. */
  readonly sealedKey: string;
  /** SHA-256 of the public key, base64url: what other owners see. */
  readonly fingerprint: string;
}

/** Makes an Ed25519 key and seals its private half under the passphrase: scrypt, then AES-256-GCM. It never leaves here open. */
export const createOwnerKey = async (passphrase: string): Promise<NewOwnerKey> => {
  const jwk = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  const publicKey = jwk.x ?? "";
  const salt = randomBytes(16);
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", await derive(passphrase, salt), nonce);
  // The public key is bound to the sealed one: swapping either is noticed when it is opened.
  cipher.setAAD(Buffer.from(publicKey, "base64url"));
  const box = Buffer.concat([
    cipher.update(Buffer.from(jwk.d ?? "", "base64url")),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  const sealed = {
    v: 1,
    kdf: "scrypt",
    n: cost.N,
    r: cost.r,
    p: cost.p,
    salt: salt.toString("base64url"),
    nonce: nonce.toString("base64url"),
    box: box.toString("base64url"),
  };
  return {
    publicKey,
    sealedKey: Buffer.from(JSON.stringify(sealed)).toString("base64url"),
    fingerprint: createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("base64url"),
  };
};

/**
 * What is sent as the passphrase when signing in: derived from it, so that the server, which also keeps the sealed key, cannot open
 * that key with what it is told. The salt is the same for all: the server salts and stretches once more before it stores anything.
 */
export const signInSecret = async (passphrase: string): Promise<string> =>
  (await derive(passphrase, Buffer.from("holdfast owner sign-in v1"))).toString("base64url");

const derive = (passphrase: string, salt: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(passphrase.normalize("NFC"), salt, 32, cost, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
