import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { framePayloadLimitBytes, frameType } from "@holdfast/contract";
import { z } from "zod";
import { encodeFrame, type Frame, FrameDecoder } from "./frames.ts";
import { ProtocolViolation } from "./violation.ts";

const golden = z
  .array(z.object({ name: z.string(), type: z.number(), payload_hex: z.string(), frame_hex: z.string() }))
  .parse(
    JSON.parse(
      readFileSync(new URL("../../../../native/agent/tests/golden/frames.json", import.meta.url), "utf8"),
    ),
  );

const decodeAll = (chunks: Iterable<Buffer>): Frame[] => {
  const decoder = new FrameDecoder();
  const frames: Frame[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk);
    for (let frame = decoder.next(); frame; frame = decoder.next()) frames.push(frame);
  }
  return frames;
};

describe("frames of the agent protocol", () => {
  it("equals the golden bytes in both directions", () => {
    assert.ok(golden.length >= Object.keys(frameType).length);
    for (const { name, type, payload_hex, frame_hex } of golden) {
      const payload = Buffer.from(payload_hex, "hex");
      const known = Object.values(frameType).find((value) => value === type);
      assert.ok(known, name);
      assert.equal(encodeFrame(known, payload).toString("hex"), frame_hex, name);
      assert.deepEqual(decodeAll([Buffer.from(frame_hex, "hex")]), [{ type, payload }], name);
    }
  });

  it("gives the same frames however the bytes are cut (seeded)", () => {
    const random = seeded(20_261_130);
    for (let round = 0; round < 300; round += 1) {
      const sent = Array.from({ length: 1 + random(6) }, () => ({
        type: (1 + random(9)) as Frame["type"],
        payload: Buffer.alloc(random(4) === 0 ? random(70_000) : random(40), random(256)),
      }));
      const bytes = Buffer.concat(sent.map(({ type, payload }) => encodeFrame(type, payload)));
      const chunks: Buffer[] = [];
      const largest = [1, 3, 64, 5000, 200_000][random(5)] ?? 1;
      for (let at = 0; at < bytes.length; ) {
        const length = 1 + random(largest);
        // A chunk's memory is reused by nobody, as with a socket.
        chunks.push(Buffer.from(bytes.subarray(at, at + length)));
        at += length;
      }
      assert.deepEqual(decodeAll(chunks), sent, `round ${round}`);
    }
  });

  it("hands DATA over in parts as it comes, when asked to, and nothing else", () => {
    const payload = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256));
    const bytes = Buffer.concat([
      encodeFrame(3, payload),
      encodeFrame(5, payload),
      encodeFrame(5, Buffer.alloc(0)),
      encodeFrame(5, payload),
      encodeFrame(6, payload),
    ]);
    for (const size of [1, 4, 7, 300, 5000]) {
      const decoder = new FrameDecoder({ dataInParts: true });
      const data: Buffer[] = [];
      const others: Frame[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        decoder.push(Buffer.from(bytes.subarray(at, at + size)));
        for (let frame = decoder.next(); frame; frame = decoder.next())
          if (frame.type === frameType.data) data.push(frame.payload);
          else others.push(frame);
      }
      assert.deepEqual(Buffer.concat(data), Buffer.concat([payload, payload]), `cut at ${size}`);
      assert.deepEqual(others, [
        { type: 3, payload },
        { type: 6, payload },
      ]);
    }
  });

  it("refuses a length over the limit and a type that is not there, before it waits for the payload", () => {
    const tooLong = Buffer.from([0, 0, 0, 0, 5]);
    tooLong.writeUInt32BE(framePayloadLimitBytes + 1);
    for (const bytes of [
      tooLong,
      Buffer.from([255, 255, 255, 255, 1]),
      Buffer.from([0, 0, 0, 0, 0]),
      Buffer.from([0, 0, 0, 0, 10]),
    ])
      assert.throws(() => decodeAll([bytes]), ProtocolViolation);
    assert.equal(decodeAll([encodeFrame(5, Buffer.alloc(framePayloadLimitBytes))]).length, 1);
  });

  it("never throws anything else on random bytes, and holds no more than came (seeded)", () => {
    const random = seeded(7);
    let refused = 0;
    for (let round = 0; round < 3000; round += 1) {
      const bytes = Buffer.from(Array.from({ length: random(64) }, () => random(256)));
      // Half of them start like a real frame, so that the decoder gets further.
      if (random(2) === 0 && bytes.length > 5) bytes.set([0, 0, 0, random(40), 1 + random(9)], 0);
      try {
        decodeAll([bytes.subarray(0, random(64)), bytes]);
      } catch (error) {
        assert.ok(error instanceof ProtocolViolation, String(error));
        refused += 1;
      }
    }
    assert.ok(refused > 100);
  });
});

const seeded = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
};
