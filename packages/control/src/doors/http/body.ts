import type { IncomingMessage } from "node:http";
import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";

/** A whole JSON body must arrive within this; between two pieces of a stream at most this may pass. */
const jsonMs = 20_000;
const pieceMs = 60_000;

/** Throws `malformed_request`, `too_large`, `timed_out`. An absent body is `{}`. */
export const readJson = async (incoming: IncomingMessage, clock: Clock): Promise<unknown> => {
  const announced = Number(incoming.headers["content-length"] ?? 0);
  if (announced > limits.jsonBodyBytes) throw tooLarge(limits.jsonBodyBytes);
  const slow = new AbortController();
  const cancel = clock.after(jsonMs, () => slow.abort());
  try {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of piecesOf(incoming, slow.signal)) {
      bytes += piece.length;
      if (bytes > limits.jsonBodyBytes) throw tooLarge(limits.jsonBodyBytes);
      pieces.push(piece);
    }
    if (bytes === 0) return {};
    const type = incoming.headers["content-type"] ?? "";
    if (!/^application\/json\s*(;|$)/i.test(type))
      throw new HoldfastError("malformed_request", "the body is not announced as application/json");
    return parse(Buffer.concat(pieces));
  } finally {
    cancel();
  }
};

/** The body as a stream: at most `uploadBytes`, and never silent for long while it is waited for. */
export async function* readBytes(incoming: IncomingMessage, clock: Clock): AsyncGenerator<Uint8Array> {
  const slow = new AbortController();
  let cancel = clock.after(pieceMs, () => slow.abort());
  try {
    let bytes = 0;
    for await (const piece of piecesOf(incoming, slow.signal)) {
      cancel();
      bytes += piece.length;
      if (bytes > limits.uploadBytes) throw tooLarge(limits.uploadBytes);
      yield piece;
      cancel = clock.after(pieceMs, () => slow.abort());
    }
  } finally {
    cancel();
  }
}

async function* piecesOf(incoming: IncomingMessage, slow: AbortSignal): AsyncGenerator<Buffer> {
  const stop = (): void => {
    incoming.destroy(new HoldfastError("timed_out", "the body of the request did not arrive in time"));
  };
  slow.addEventListener("abort", stop, { once: true });
  try {
    for await (const piece of incoming) yield piece as Buffer;
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw new HoldfastError("malformed_request", "the body of the request broke off", {}, { cause: error });
  } finally {
    slow.removeEventListener("abort", stop);
  }
}

const parse = (bytes: Buffer): unknown => {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new HoldfastError("malformed_request", "the body is not UTF-8", {}, { cause });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new HoldfastError("malformed_request", "the body is not JSON", {}, { cause });
  }
};

const tooLarge = (limit: number): HoldfastError =>
  new HoldfastError("too_large", `the body is larger than ${limit} bytes`, { limit });
