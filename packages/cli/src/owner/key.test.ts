import assert from "node:assert/strict";
import { createDecipheriv, createPrivateKey, createPublicKey, scryptSync, sign, verify } from "node:crypto";
import { test } from "node:test";
import { createOwnerKey, signInSecret } from "./key.ts";

const open = (sealedKey: string, passphrase: string, publicKey: string): Buffer => {
  const sealed = JSON.parse(Buffer.from(sealedKey, "base64url").toString()) as Record<
    "salt" | "nonce" | "box",
    string
  > &
    Record<"n" | "r" | "p", number>;
  const { n: N, p, r } = sealed;
  const key = scryptSync(passphrase, Buffer.from(sealed.salt, "base64url"), 32, { N, r, p, maxmem: 2 ** 28 });
  const box = Buffer.from(sealed.box, "base64url");
  const cipher = createDecipheriv("aes-256-gcm", key, Buffer.from(sealed.nonce, "base64url"));
  cipher.setAAD(Buffer.from(publicKey, "base64url"));
  cipher.setAuthTag(box.subarray(-16));
  return Buffer.concat([cipher.update(box.subarray(0, -16)), cipher.final()]);
};

test("the sealed key opens with the passphrase and signs for the public key", async () => {
  const made = await createOwnerKey("correct horse battery");
  const seed = open(made.sealedKey, "correct horse battery", made.publicKey);
  const jwk = { kty: "OKP", crv: "Ed25519", x: made.publicKey };
  const signature = sign(
    null,
    Buffer.from("digest"),
    createPrivateKey({ key: { ...jwk, d: seed.toString("base64url") }, format: "jwk" }),
  );
  assert.ok(verify(null, Buffer.from("digest"), createPublicKey({ key: jwk, format: "jwk" }), signature));
  assert.ok(made.sealedKey.length <= 2000);
});

test("neither another passphrase, nor the sign-in secret, nor another public key opens it", async () => {
  const made = await createOwnerKey("correct horse battery");
  const other = await createOwnerKey("correct horse battery");
  assert.notEqual(made.sealedKey, other.sealedKey);
  const secret = await signInSecret("correct horse battery");
  assert.throws(() => open(made.sealedKey, "correct horse batterz", made.publicKey));
  assert.throws(() => open(made.sealedKey, secret, made.publicKey));
  assert.throws(() => open(made.sealedKey, "correct horse battery", other.publicKey));
});

test("the sign-in secret is the same on every machine, whatever form its letters have", async () => {
  assert.equal(await signInSecret("schön und gut genug"), await signInSecret("scho\u0308n und gut genug"));
  assert.notEqual(await signInSecret("a long passphrase"), await signInSecret("another passphrase"));
  assert.match(await signInSecret("a long passphrase"), /^[\w-]{43}$/);
});
