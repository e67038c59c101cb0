import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../errors.ts";
import { checkedCode } from "./code.ts";

test("a code is taken as people type it", () => {
  for (const code of [
    "01234-56789-abcde-fghjk",
    "01234 56789 ABCDE FGHJK",
    "O1234-56789-abcde-fghjk",
    "l1i34-56789-abcde-fghjk",
  ])
    assert.equal(checkedCode(code), code);
});

test("what cannot be a code is refused before anything is asked for it, with where a new one comes from", () => {
  for (const code of ["", "01234-56789-abcde", "u1234-56789-abcde-fghjk", "hf_01234-56789-abcde-fghjk"])
    assert.throws(
      () => checkedCode(code),
      (error) => error instanceof CliError && error.next.includes("holdfast owner login"),
      code,
    );
});
