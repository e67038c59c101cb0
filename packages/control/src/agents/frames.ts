import { type FrameType, frameHeaderBytes, framePayloadLimitBytes, frameType } from "@holdfast/contract";
import { ProtocolViolation } from "./violation.ts";

export interface Frame {
  readonly type: FrameType;
  /** A view into received memory: copy what is kept. */
  readonly payload: Buffer;
}

const empty = Buffer.alloc(0);
const smallestStoreBytes = 4096;

/**
 * Cuts the agent's bytes into frames. Holds at most one unfinished frame, in memory that grows with what has really come. Throws
 * `ProtocolViolation` on a length or type that the protocol does not have; after that the connection is of no use.
 */
export class FrameDecoder {
  /** Received and not yet taken. A view of a pushed chunk, or of `#store` when it was joined from several. */
  #held: Buffer = empty;
  /** Of a DATA frame that is handed over in parts: bytes that are still to come. */
  #passing = 0;
  readonly #dataInParts: boolean;
  /** Free memory directly behind `#held`; what is taken from before it is never written again. */
  #spare: Buffer = empty;

  /** `dataInParts`: the payload of a DATA frame comes as several frames, as it arrives and without being copied together. */
  constructor(options: { readonly dataInParts?: boolean } = {}) {
    this.#dataInParts = options.dataInParts ?? false;
  }

  push(chunk: Buffer): void {
    if (this.#held.length === 0) {
      this.#held = chunk;
      this.#spare = empty;
      return;
    }
    if (this.#spare.length < chunk.length) this.#grow(chunk.length);
    chunk.copy(this.#spare);
    this.#held = Buffer.from(this.#held.buffer, this.#held.byteOffset, this.#held.length + chunk.length);
    this.#spare = this.#spare.subarray(chunk.length);
  }

  /** The next whole frame, or undefined until more is pushed. */
  next(): Frame | undefined {
    const held = this.#held;
    if (this.#passing > 0) return this.#pass();
    if (held.length < frameHeaderBytes) return undefined;
    const length = held.readUInt32BE(0);
    const type = held.readUInt8(4);
    if (length > framePayloadLimitBytes)
      throw new ProtocolViolation(
        `a frame of ${length} bytes is over the limit of ${framePayloadLimitBytes} bytes`,
      );
    if (!isFrameType(type)) throw new ProtocolViolation(`there is no frame type ${type}`);
    if (this.#dataInParts && type === frameType.data && length > 0) {
      this.#held = held.subarray(frameHeaderBytes);
      this.#passing = length;
      return this.#pass();
    }
    const whole = frameHeaderBytes + length;
    if (held.length < whole) return undefined;
    this.#held = held.subarray(whole);
    return { type, payload: held.subarray(frameHeaderBytes, whole) };
  }

  #pass(): Frame | undefined {
    if (this.#held.length === 0) return undefined;
    const payload = this.#held.subarray(0, this.#passing);
    this.#held = this.#held.subarray(payload.length);
    this.#passing -= payload.length;
    return { type: frameType.data, payload };
  }

  /** Doubling: a peer that sends byte by byte costs two copies of each, not one of the whole for each. */
  #grow(more: number): void {
    const store = Buffer.allocUnsafeSlow(Math.max(smallestStoreBytes, 2 * (this.#held.length + more)));
    this.#held.copy(store);
    this.#spare = store.subarray(this.#held.length);
    this.#held = store.subarray(0, this.#held.length);
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

const isFrameType = (byte: number): byte is FrameType => byte >= frameType.hello && byte <= frameType.control;
