import { HoldfastError } from "@holdfast/contract";

/** Commas, colons and opening brackets outside of texts: several times what the largest operation takes, a batch of them at the MCP door too. */
const mostMarks = 100_000;

const quote = 0x22;
const backslash = 0x5c;
const marks: ReadonlySet<number> = new Set([...",:[{"].map((mark) => mark.charCodeAt(0)));

/**
 * Throws `too_large` for JSON of very many values. What is large in a request are its texts; millions of tiny values would take seconds to be
 * parsed and judged, and everybody waits. Looks at bytes, not at form: what is no JSON is the parser's to refuse.
 */
export const refuseCrowdedJson = (json: Buffer): void => {
  let found = 0;
  for (let at = 0; at < json.length; ) {
    const begin = indexOr(json, quote, at);
    for (; at < begin; at += 1) if (marks.has(json[at] ?? 0)) found += 1;
    if (found > mostMarks)
      throw new HoldfastError("too_large", `the body holds more than ${mostMarks} values`, {
        limit: mostMarks,
      });
    at = endOfText(json, begin + 1);
  }
};

/** Behind the quote that ends the text which begins here. */
const endOfText = (json: Buffer, begin: number): number => {
  for (let end = indexOr(json, quote, begin); ; end = indexOr(json, quote, end + 1)) {
    let escapes = 0;
    while (end - escapes > begin && json[end - escapes - 1] === backslash) escapes += 1;
    if (escapes % 2 === 0 || end >= json.length) return end + 1;
  }
};

const indexOr = (json: Buffer, byte: number, from: number): number => {
  const index = json.indexOf(byte, from);
  return index < 0 ? json.length : index;
};
