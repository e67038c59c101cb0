import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Download, Piece } from "../domain/agents.ts";
import { AgentUnreachable } from "../domain/agents.ts";
import { Captured, type OutputStream } from "./captured.ts";
import { collectOutput, outputPage as pageOf } from "./output.ts";

interface OutputPiece {
  readonly stream: OutputStream;
  readonly bytes: Buffer;
}

const out = (bytes: string | number[]): OutputPiece => ({
  stream: "stdout",
  bytes: typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes),
});
const err = (bytes: number[]): OutputPiece => ({ stream: "stderr", bytes: Buffer.from(bytes) });
const outputPage = (
  pieces: readonly OutputPiece[],
  cursor: number,
  options: Parameters<typeof pageOf>[2],
): ReturnType<typeof pageOf> => {
  const captured = new Captured();
  for (const { stream, bytes } of pieces) captured.add(stream, bytes);
  return pageOf(captured, cursor, options);
};
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

  it("is made at once, whatever bytes are made to look unfinished", () => {
    // Each is the beginning of a character, and of none that goes on.
    const turns = Array.from({ length: 64 * 1024 }, (_, index) => (index % 2 === 0 ? out : err)([0xe2]));
    const began = performance.now();
    const page = outputPage(turns, 0, { ...text, full: true });
    assert.ok(page.nextCursor > turns.length - 32, `${page.nextCursor}`);
    // It took a minute when each of them was cut off by itself.
    assert.ok(performance.now() - began < 5000, `${performance.now() - began} ms`);
  });
});

describe("output as an agent sends it", () => {
  type Read = "output.read";
  const sent = (pieces: () => Generator<Piece<Read>>): Download<Read> & { closed: boolean } => {
    async function* each(): AsyncGenerator<Piece<Read>> {
      yield* pieces();
    }
    const download = {
      head: { first_cursor: 0, next_cursor: 0, dropped_bytes: 0, ended: false },
      pieces: each(),
      end: () => undefined,
      closed: false,
      close: () => {
        download.closed = true;
      },
    };
    return download;
  };
  const refused = async (
    download: Download<Read> & { closed: boolean },
    mostBytes: number,
  ): Promise<void> => {
    await assert.rejects(collectOutput(download, mostBytes), AgentUnreachable);
    assert.ok(download.closed);
  };

  it("is kept in the order it came, or as one stream", async () => {
    function* pieces(): Generator<Piece<Read>> {
      yield { kind: "output", ...err([1]) };
      yield { kind: "output", ...out([2, 3]) };
      yield { kind: "event", event: { type: "dropped", bytes: 7 } };
      yield { kind: "output", ...out([4]) };
    }
    const { captured, total, dropped } = await collectOutput(sent(pieces), 4);
    assert.deepEqual([total, dropped], [4, 7]);
    assert.deepEqual([...captured.bytesOf("stdout", 3)], [2, 3]);
    assert.deepEqual([...captured.bytesOf("stderr", 4)], [1]);
    const merged = await collectOutput(sent(pieces), 4, { merge: true });
    assert.deepEqual([...merged.captured.bytesOf("stdout", 4)], [1, 2, 3, 4]);
  });

  it("ends when there is more than was asked for, and when frames that hold nothing do not end", async () => {
    function* endless(piece: Piece<Read>): Generator<Piece<Read>> {
      // A limit of the test's own: without one of control's this is where it would have kept them all.
      for (let count = 0; count < 100_000; count += 1) yield piece;
    }
    await refused(
      sent(() => endless({ kind: "output", ...out("more") })),
      10,
    );
    await refused(
      sent(() => endless({ kind: "output", ...out("") })),
      10,
    );
    await refused(
      sent(() => endless({ kind: "event", event: { type: "dropped", bytes: 0 } })),
      10,
    );
  });
});
