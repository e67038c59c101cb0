import { limits } from "@holdfast/contract";
import { forSharedCaches, privateCaching } from "./caching.ts";
import { confineClearing, confineCookie } from "./cookies.ts";
import { readFields, readLength, readTokens } from "./fields.ts";
import { droppedOfAnswers, mayBeHopByHop } from "./names.ts";

/** How the body of an answer ends. */
export type AnswerBody = "none" | "length" | "chunked" | "close";

/** What of a request its answer depends on. */
export interface Asked {
  readonly method: string;
  readonly webSocket: boolean;
}

/** The head of what an app answers, as visitors may see it. */
export interface AnswerHead {
  readonly code: number;
  /** After the code, as it came; may be empty. */
  readonly reason: string;
  readonly body: AnswerBody;
  /** Of a body of kind `length`. */
  readonly bodyBytes: number;
  /** The app would take another request on the connection. */
  readonly reusable: boolean;
  /** For how long it says it would; undefined when it does not say. */
  readonly keptMs: number | undefined;
  /** It goes on as a WebSocket. */
  readonly webSocket: boolean;
  /** Header lines that go on, each with its line end, without what frames the body. */
  readonly lines: string;
  /** What Content-Length says where no body comes: nothing, nought, or what would have come (HEAD, 304). */
  readonly announcedBytes: number | undefined;
}

const statusLine = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const informational = 200;
const switching = 101;
const noContent = 204;
const resetContent = 205;
const notModified = 304;

/**
 * Judges the text of an answer's head, which comes from a cell and may be meant to confuse. Returns why nothing can be made of it: a bad
 * status line, more than one length, length and chunks, another coding, malformed lines, an upgrade that nobody asked for.
 */
export const readAnswerHead = (
  text: string,
  asked: Asked,
  /** It is for one who has a right, and for nobody's cache but his own. */
  byRight: boolean,
): AnswerHead | string => {
  const lineEnd = text.indexOf("\r\n");
  const match = statusLine.exec(lineEnd < 0 ? text : text.slice(0, lineEnd));
  if (!match) return "its status line is malformed";
  const code = Number(match[2]);
  const fields = readFields(text, lineEnd < 0 ? text.length : lineEnd + 2, limits.visitHeaders);
  if (fields === "malformed") return "a header line is malformed";
  if (fields === "too_many") return `there are more than ${limits.visitHeaders} header lines`;

  let length: string | undefined;
  let coding: string | undefined;
  let connection: string | undefined;
  let upgrade: string | undefined;
  let keptMs: number | undefined;
  let caching: string | undefined;
  for (const { name, value } of fields) {
    if (name === "content-length") {
      if (length !== undefined) return "it has more than one Content-Length";
      length = value;
    } else if (name === "transfer-encoding") {
      if (coding !== undefined) return "it has more than one Transfer-Encoding";
      coding = value;
    } else if (name === "connection")
      connection = connection === undefined ? value : `${connection},${value}`;
    else if (name === "upgrade") upgrade = upgrade === undefined ? value : `${upgrade},${value}`;
    else if (name === "cache-control") caching = caching === undefined ? value : `${caching},${value}`;
    else if (name === "keep-alive") keptMs = readKept(value);
  }
  if (length !== undefined && coding !== undefined) return "it has both Content-Length and Transfer-Encoding";
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || match[1] === "0"))
    return "its Transfer-Encoding is not `chunked` alone, in HTTP/1.1";
  const lengthBytes = length === undefined ? undefined : readLength(length);
  if (length !== undefined && lengthBytes === undefined) return "its Content-Length is not one number";
  const options = connection === undefined ? [] : readTokens(connection);
  if (options === undefined) return "its Connection header is not a list of names";

  const webSocket = code === switching;
  if (
    webSocket &&
    !(asked.webSocket && options.includes("upgrade") && upgrade?.toLowerCase() === "websocket")
  )
    return "it switches to a protocol that was not asked for";

  const bare = asked.method === "HEAD" || code < informational || code === noContent || code === notModified;
  const withoutLength = code < informational || code === noContent;
  let body: AnswerBody = "none";
  if (!bare) {
    if (coding !== undefined) body = "chunked";
    else if (lengthBytes !== undefined) body = lengthBytes === 0 ? "none" : "length";
    else if (code !== resetContent) body = "close";
  }
  const announced = (): number | undefined => {
    if (withoutLength) return undefined;
    if (bare) return lengthBytes;
    return body === "none" ? 0 : undefined;
  };
  const leftOut = options.filter(mayBeHopByHop);
  let lines = byRight ? `Cache-Control: ${privateCaching(caching)}\r\n` : "";
  for (const { name, value, line } of fields) {
    if (name === "content-length" || name === "transfer-encoding" || name === "connection") continue;
    if (droppedOfAnswers.has(name) || leftOut.includes(name)) continue;
    if (byRight && (name === "cache-control" || forSharedCaches.has(name))) continue;
    if (name === "set-cookie") {
      const confined = confineCookie(value);
      if (confined !== undefined) lines += `${confined === value ? line : `Set-Cookie: ${confined}`}\r\n`;
    } else if (name === "clear-site-data") {
      const confined = confineClearing(value);
      if (confined !== undefined) lines += `Clear-Site-Data: ${confined}\r\n`;
    } else lines += `${line}\r\n`;
  }
  return {
    code,
    reason: match[3] ?? "",
    body,
    bodyBytes: body === "length" ? (lengthBytes ?? 0) : 0,
    reusable: match[1] === "1" ? !options.includes("close") : options.includes("keep-alive"),
    keptMs,
    webSocket,
    lines,
    announcedBytes: announced(),
  };
};

const readKept = (value: string): number | undefined => {
  const seconds = /(?:^|[,\s])timeout\s*=\s*"?([0-9]{1,6})/i.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
};
