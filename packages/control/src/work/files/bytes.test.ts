import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { AgentUnreachable, type Download, type Piece } from "../../domain/agents.ts";
import { bounded, fromBase64, gather } from "./bytes.ts";

const sent = <M extends "files.read" | "tar.export">(pieces: () => Generator<Piece<M>>): Download<M> => {
  async function* each(): AsyncGenerator<Piece<M>> {
    yield* pieces();
  }
  return { head: {} as never, pieces: each(), end: () => undefined, close: () => {} };
};
const data = (bytes: Buffer) => ({ kind: "data", bytes }) as const;

/** With an end of the test's own, far behind control's. */
function* endless(bytes: Buffer): Generator<Piece<"files.read">> {
  for (let count = 0; count < 100_000; count += 1) yield data(bytes);
}

test("a part of a file is one piece of memory, however small it comes", async () => {
  function* each(): Generator<Piece<"files.read">> {
    yield data(Buffer.from("a"));
    yield data(Buffer.alloc(0));
    yield data(Buffer.from("bc"));
  }
  assert.equal((await gather(sent(each), 3)).toString(), "abc");
  await assert.rejects(gather(sent(each), 2), /more came/);
  await assert.rejects(gather(sent(each), 4), /less came/);
});

test("an agent that sends frames which hold nothing is not read for ever", async () => {
  await assert.rejects(
    gather(
      sent(() => endless(Buffer.alloc(0))),
      3,
    ),
    (error) => error instanceof AgentUnreachable && /hold nothing/.test(error.message),
  );
});

test("an archive, whose size nobody knows before, ends at the limit of a download", async () => {
  const read = async (pieces: AsyncIterable<Buffer>): Promise<number> => {
    let total = 0;
    for await (const piece of pieces) total += piece.length;
    return total;
  };
  function* archive(): Generator<Piece<"tar.export">> {
    for (let count = 0; count < 5; count += 1) yield data(Buffer.alloc(10));
  }
  assert.equal(await read(bounded(sent(archive), undefined, 50)), 50);
  await assert.rejects(
    read(bounded(sent(archive), undefined, 49)),
    (error) => error instanceof HoldfastError && error.code === "too_large",
  );
});

test("base64 is taken with its padding or without, and nothing else, at once", () => {
  for (const text of ["", "YQ==", "YQ", "YWI=", "YWI", "YWJj"])
    assert.equal(fromBase64(text)?.toString(), "abc".slice(0, fromBase64(text)?.length));
  for (const text of ["Y", "YQ=", "YR==", "YQ===", "Y-_=", " YQ==", "YQ==\n", "====", "Y=Q="])
    assert.equal(fromBase64(text), undefined, JSON.stringify(text));
  const began = performance.now();
  assert.equal(fromBase64(`${"=".repeat(3_000_000)}a`), undefined);
  // It took hours.
  assert.ok(performance.now() - began < 2000);
});
