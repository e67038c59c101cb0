import assert from "node:assert/strict";
import { test } from "node:test";
import { codesFrom, passphrasesFrom } from "./attempts.ts";

test("a host counts once, whichever of its IPv6 addresses it takes; codes and passphrases count apart", () => {
  assert.equal(passphrasesFrom("2001:db8::1").subject, passphrasesFrom("2001:db8::beef:2").subject);
  assert.notEqual(passphrasesFrom("2001:db8::1").subject, passphrasesFrom("2001:db8:0:1::1").subject);
  assert.notEqual(passphrasesFrom("127.0.0.1").subject, codesFrom("127.0.0.1").subject);
});
