import assert from "node:assert/strict";
import { test } from "node:test";
import { Console } from "./console.ts";

test("a question that nobody can be asked is named without its colon", async () => {
  const console = new Console(process, {});
  console.noInput = true;
  await assert.rejects(console.askHidden("Passphrase of owner:", "Give it."), {
    message: "This needs an answer: Passphrase of owner",
  });
});
