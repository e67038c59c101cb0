import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type OutputPiece, outputPage } from "./output.ts";

const out = (bytes: string | number[]): OutputPiece => ({
  stream: "stdout",
  bytes: typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes),
});
const err = (bytes: number[]): OutputPiece => ({ stream: "stderr", bytes: Buffer.from(bytes) });
const text = { encoding: "text", final: false, full: false } as const;

describe("a page of output as text", () => {
  it("leaves a character that is not whole yet for the next page, wherever it is cut", () => {
    const bytes = Buffer.from("añ日𝄞z");
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const first = outputPage([out([...bytes.subarray(0, cut)])], 100, text);
      const rest = outputPage([out([...bytes.subarray(first.nextCursor - 100)])], first.nextCursor, text);
      assert.equal(first.stdout + rest.stdout, "añ日𝄞z", `cut at ${cut}`);
      assert.equal(rest.nextCursor, 100 + bytes.length);
    }
  });

  it("keeps both streams whole when they are mixed", () => {
    // The first half of 日 on stdout, half a ü on stderr, then the rest of 日.
    const page = outputPage([out("ab"), out([0xe6, 0x97]), err([0xc3]), out([0xa5])], 0, text);
    assert.equal(page.stdout, "ab");
    assert.equal(page.stderr, "");
    assert.equal(page.nextCursor, 2);
  });

  it("shows what it is at the end, and never stands still while there is more", () => {
    const half = [out([0xe6, 0x97])];
    assert.deepEqual(outputPage(half, 5, text), { stdout: "", stderr: "", nextCursor: 5 });
    assert.equal(outputPage(half, 5, { ...text, final: true }).stdout, "\ufffd");
    assert.equal(outputPage(half, 5, { ...text, full: true }).nextCursor, 7);
    const stuck = outputPage([...half, err([...Buffer.from("going on")])], 0, text);
    assert.equal(stuck.nextCursor, 10);
  });

  it("takes bytes that are no UTF-8 as they come, and exactly with base64", () => {
    const bytes = Array.from({ length: 256 }, (_, index) => index);
    assert.equal(outputPage([out(bytes)], 0, text).nextCursor, 256);
    const page = outputPage([out(bytes)], 0, { ...text, encoding: "base64" });
    assert.deepEqual([...Buffer.from(page.stdout, "base64")], bytes);
  });
});
