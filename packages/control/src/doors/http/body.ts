import type { IncomingMessage } from "node:http";
import { HoldfastError, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { refuseCrowdedJson } from "./crowd.ts";

/** A body that is held as a whole must arrive within this; between two pieces of a stream at most `pieceMs` may pass. */
const wholeMs = 20_000;
const pieceMs = 60_000;

export interface BodyReader {
  readonly incoming: IncomingMessage;
  readonly clock: Clock;
  /** Tells a caller who waits for it (`Expect: 100-continue`) that the body is wanted. */
  readonly invite: () => void;
}

/**
 * The whole body, each piece counted with `take` as it arrives. Throws what `take` throws, `malformed_request`, `too_large`, `timed_out`.
 * An absent body is empty.
 */
export const readWhole = async (
  { incoming, clock, invite }: BodyReader,
  mostBytes: number,
  take: (bytes: number) => void,
): Promise<Buffer> => {
  const announced = Number(incoming.headers["content-length"] ?? 0);
  if (announced > mostBytes) throw tooLarge(mostBytes);
  invite();
  const slow = new AbortController();
  const cancel = clock.after(wholeMs, () => slow.abort());
  try {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of piecesOf(incoming, slow.signal)) {
      bytes += piece.length;
      if (bytes > mostBytes) throw tooLarge(mostBytes);
      take(piece.length);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    cancel();
  }
};

/** As `readWhole`, and parsed. An absent body is `{}`. */
export const readJson = async (
  reader: BodyReader,
  mostBytes: number,
  take: (bytes: number) => void,
): Promise<unknown> => {
  const bytes = await readWhole(reader, mostBytes, take);
  if (bytes.length === 0) return {};
  const type = reader.incoming.headers["content-type"] ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new HoldfastError("malformed_request", "the body is not announced as application/json");
  refuseCrowdedJson(bytes);
  return parse(bytes);
};

/** The body as a stream: at most `uploadBytes`, and never silent for long while it is waited for. */
export async function* readBytes({ incoming, clock, invite }: BodyReader): AsyncGenerator<Uint8Array> {
  invite();
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

const drainBytes = 1024 * 1024;
const drainMs = 1000;

/** Whether more of the body is to come than was read. */
export const isUnread = (incoming: IncomingMessage): boolean => {
  const { headers } = incoming;
  const announced = Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined;
  return announced && !incoming.complete;
};

/**
 * Throws away what still comes, for a moment: a connection that is closed with unread bytes is reset, and the reply before it may never be
 * seen. `then` is called when the body has ended or was more or slower than is worth it.
 */
export const drain = (incoming: IncomingMessage, clock: Clock, then: () => void): void => {
  let bytes = 0;
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    cancel();
    incoming.off("data", count);
    incoming.pause();
    then();
  };
  const cancel = clock.after(drainMs, end);
  const count = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes > drainBytes) end();
  };
  incoming.on("data", count);
  for (const event of ["end", "error", "close"]) incoming.once(event, end);
  incoming.resume();
};

/** Pieces as they come. Who stops reading, or waits no longer, still owes the caller a reply on this connection: it is not destroyed. */
async function* piecesOf(incoming: IncomingMessage, slow: AbortSignal): AsyncGenerator<Buffer> {
  let wake = (): void => {};
  let over = false;
  const news = (): void => wake();
  const end = (): void => {
    over = true;
    wake();
  };
  incoming.on("readable", news);
  for (const event of ["end", "error", "close"]) incoming.on(event, end);
  slow.addEventListener("abort", news);
  try {
    for (;;) {
      const piece = incoming.read() as Buffer | null;
      if (piece !== null) {
        yield piece;
        continue;
      }
      if (incoming.readableEnded) return;
      if (over || incoming.destroyed)
        throw new HoldfastError("malformed_request", "the body of the request broke off");
      if (slow.aborted)
        throw new HoldfastError("timed_out", "the body of the request did not arrive in time");
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    incoming.off("readable", news);
    for (const event of ["end", "error", "close"]) incoming.off(event, end);
    slow.removeEventListener("abort", news);
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
