import assert from "node:assert/strict";
import { test } from "node:test";
import { readServerEvents, type ServerEvent } from "./sse.ts";

const text =
  ': hello\r\nevent: output\r\nid: 7\r\ndata: {"a":\r\ndata: "ü"}\r\n\r\nid: 8\ndata: x\n\nevent: lost\ndata: no blank line';

const read = async (pieces: readonly Uint8Array[]): Promise<ServerEvent[]> => {
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return Array.fromAsync(readServerEvents(stream));
};

const expected = [
  { event: "output", data: '{"a":\n"ü"}', id: "7" },
  { event: "message", data: "x", id: "8" },
];

test("events come out whole wherever the stream is cut", async () => {
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size < bytes.length; size += 1) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    assert.deepEqual(await read(pieces), expected, `pieces of ${size}`);
  }
});

test("stopping early cancels the stream", async () => {
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const event of readServerEvents(stream)) {
    assert.equal(event.data, "1");
    break;
  }
  assert.ok(cancelled);
});
