import { HoldfastError, limits } from "@holdfast/contract";
import { AgentUnreachable, type Download } from "../../domain/agents.ts";

/** Frames that hold nothing before an agent is taken for one that sends no others. */
const emptyFrames = 1024;

/**
 * The bytes of a download, pulled. `promised` is the length that the agent gave: more or fewer are an error, so that a broken file is never
 * taken for a whole one; without one `most` is the limit (`too_large`). Lets go of the agent when nobody reads on, also before the first byte.
 */
export const bounded = (
  download: Download<"files.read"> | Download<"tar.export">,
  promised: number | undefined,
  most: number = limits.downloadBytes,
): AsyncIterable<Buffer> => {
  async function* bytes(): AsyncGenerator<Buffer> {
    let total = 0;
    let empty = 0;
    for await (const piece of download.pieces) {
      if (piece.kind !== "data" || piece.bytes.length === 0) {
        empty += 1;
        if (empty > emptyFrames) throw broken("nothing");
        continue;
      }
      total += piece.bytes.length;
      if (promised !== undefined && total > promised) throw broken("more");
      if (promised === undefined && total > most)
        throw new HoldfastError(
          "too_large",
          `there is more than the ${most} bytes that one download brings`,
          {
            limit: most,
          },
        );
      yield piece.bytes;
    }
    if (promised !== undefined && total < promised) throw broken("less");
  }
  const source = bytes();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => source.next(),
      return: async () => {
        download.close();
        await source.return(undefined).catch(() => {});
        return { done: true, value: undefined };
      },
    }),
  };
};

const broken = (word: "more" | "less" | "nothing"): AgentUnreachable =>
  new AgentUnreachable(
    word === "nothing"
      ? "the computer's agent sends frames that hold nothing"
      : `the file has changed while it was read: ${word} came than it held`,
    true,
  );

/** All of it in one piece of memory of exactly that size, however small the agent cuts its frames. Throws as `bounded`. */
export const gather = async (download: Download<"files.read">, promised: number): Promise<Buffer> => {
  const whole = Buffer.alloc(promised);
  let at = 0;
  for await (const piece of bounded(download, promised)) at += piece.copy(whole, at);
  return whole;
};

/** Undefined for what is not base64; its padding may be left out. */
export const fromBase64 = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, "base64");
  const padded = bytes.toString("base64");
  // Padding is at most two: a search for the end of any run of it takes the square of a long one.
  return text === padded || text === padded.replace(/={1,2}$/, "") ? bytes : undefined;
};

/** As text, without the beginning of a character whose rest is in the next part (`more`). Never less than one byte of what there is. */
export const wholeText = (
  bytes: Buffer,
  more: boolean,
): { readonly text: string; readonly bytes: number } => {
  const end = more ? wholeCharacters(bytes) : bytes.length;
  const shown = end === 0 ? bytes.length : end;
  return { text: bytes.toString("utf8", 0, shown), bytes: shown };
};

const wholeCharacters = (bytes: Buffer): number => {
  for (let behind = 1; behind <= Math.min(4, bytes.length); behind += 1) {
    const byte = bytes[bytes.length - behind] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > behind ? bytes.length - behind : bytes.length;
  }
  return bytes.length;
};
