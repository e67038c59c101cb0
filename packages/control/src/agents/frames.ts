import { type FrameType, frameHeaderBytes, framePayloadLimitBytes, frameType } from "@holdfast/contract";
import { ProtocolViolation } from "./violation.ts";

export interface Frame {
  readonly type: FrameType;
  /** A view into received memory: copy what is kept. */
  readonly payload: Buffer;
}

/**
 * Cuts the agent's bytes into frames. Holds at most one frame and the chunk it ended in. Throws `ProtocolViolation` on a length or type
 * that the protocol does not have; after that the connection is of no use.
 */
export class FrameDecoder {
  #chunks: Buffer[] = [];
  #bytes = 0;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** True when some bytes of a frame are held but not all of them. */
  get partial(): boolean {
    return this.#bytes > 0;
  }

  /** The next whole frame, or undefined until more is pushed. */
  next(): Frame | undefined {
    if (this.#bytes < frameHeaderBytes) return undefined;
    const head = this.#atLeast(frameHeaderBytes);
    const length = head.readUInt32BE(0);
    const type = head.readUInt8(4);
    if (length > framePayloadLimitBytes)
      throw new ProtocolViolation(
        `a frame of ${length} bytes is over the limit of ${framePayloadLimitBytes} bytes`,
      );
    if (!isFrameType(type)) throw new ProtocolViolation(`there is no frame type ${type}`);
    const whole = frameHeaderBytes + length;
    if (this.#bytes < whole) return undefined;
    const frame = this.#atLeast(whole);
    const rest = frame.subarray(whole);
    if (rest.length > 0) this.#chunks[0] = rest;
    else this.#chunks.shift();
    this.#bytes -= whole;
    return { type, payload: frame.subarray(frameHeaderBytes, whole) };
  }

  /** The first chunk, joined with as many of the others as needed to hold `wanted` bytes. */
  #atLeast(wanted: number): Buffer {
    let first = this.#chunks[0] ?? Buffer.alloc(0);
    if (first.length >= wanted) return first;
    let taken = 0;
    let joined = 0;
    while (joined < wanted) {
      joined += this.#chunks[taken]?.length ?? wanted;
      taken += 1;
    }
    first = Buffer.concat(this.#chunks.slice(0, taken));
    this.#chunks.splice(0, taken, first);
    return first;
  }
}

/** Header and payload apart, so that a large payload is not copied. Payloads are built by us from bounded parts. */
export const frameHeader = (type: FrameType, payloadBytes: number): Buffer => {
  if (payloadBytes > framePayloadLimitBytes)
    throw new RangeError(`a payload of ${payloadBytes} bytes is over the limit of ${framePayloadLimitBytes}`);
  const header = Buffer.allocUnsafe(frameHeaderBytes);
  header.writeUInt32BE(payloadBytes, 0);
  header.writeUInt8(type, 4);
  return header;
};

export const encodeFrame = (type: FrameType, payload: Uint8Array): Buffer =>
  Buffer.concat([frameHeader(type, payload.length), payload]);

const isFrameType = (byte: number): byte is FrameType =>
  byte >= frameType.hello && byte <= frameType.control;
