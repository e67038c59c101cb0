import { limits } from "@holdfast/contract";
import { takeSessionCookie } from "./cookies.ts";
import { holdsPlatformToken, namesOwnPart } from "./credentials.ts";
import { type Field, readFields, readLength, readTokens } from "./fields.ts";
import { readHost } from "./host.ts";
import { isProxysOwn, mayBeHopByHop, requestFields } from "./names.ts";
import { isDotted } from "./path.ts";

/** How long a body is: -1 says that it comes in chunks. */
export const inChunks = -1;

/** A request's head, judged and taken apart. Header values hold one character for each byte. */
export interface RequestHead {
  readonly method: string;
  /** With its query, as it came. */
  readonly target: string;
  /** Without its query. */
  readonly path: string;
  readonly minor: 0 | 1;
  /** Lower case, without port; `hostHeader` as it came. */
  readonly host: string;
  readonly hostHeader: string;
  /** Bytes of the body, or `inChunks`. */
  readonly bodyBytes: number;
  readonly keepAlive: boolean;
  /** It asks for a WebSocket, in the only form that is passed on. */
  readonly webSocket: boolean;
  readonly expectsContinue: boolean;
  /** What the visitor shows: a key or an owner's session in our header, a session of ours in our cookie. Taken out of `fields`. */
  readonly key: string | undefined;
  readonly session: string | undefined;
  /** A platform credential stands where the app's own belongs. */
  readonly misplacedKey: boolean;
  readonly forwardedFor: string | undefined;
  readonly accept: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly fetchMode: string | undefined;
  readonly fetchDest: string | undefined;
  /** What goes on to the app as it came. */
  readonly fields: readonly Field[];
}

/** Why a head is refused. `why` is for the one who sent it. */
export interface Refusal {
  readonly refused: "malformed" | "too_large" | "target_too_long" | "method" | "expectation";
  readonly why: string;
}

const malformed = (why: string): Refusal => ({ refused: "malformed", why });

/** The path without what browsers would encode there; the query with what they leave as it is (`\`, `^` and the backtick among it). */
const requestLine =
  // oxlint-disable-next-line no-control-regex -- control bytes are among what is refused
  /^([A-Z]{1,20}) (\/[^\x00-\x20"#<>?\\`\x7f-\xff]*(?:\?[^\x00-\x20"#<>\x7f-\xff]*)?) HTTP\/1\.([01])$/;

/**
 * Judges the text of a head. Anything that two programs could read differently is refused: more than one Host, an absolute or other
 * target than a path, dot segments, two lengths, length and chunks, any coding but `chunked` alone, chunks in HTTP/1.0, continued lines,
 * spaces before a colon, underscores that some servers take for hyphens.
 */
export const readRequestHead = (text: string): RequestHead | Refusal => {
  const lineEnd = text.indexOf("\r\n");
  const firstLine = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const match = requestLine.exec(firstLine);
  if (!match) return malformed("the request line is not `METHOD /path HTTP/1.1`");
  const method = match[1] ?? "";
  const target = match[2] ?? "";
  const minor = match[3] === "1" ? 1 : 0;
  if (method === "CONNECT" || method === "TRACE") return { refused: "method", why: `${method} is not taken` };
  if (target.length > limits.urlBytes)
    return { refused: "target_too_long", why: `the target is over ${limits.urlBytes} bytes` };
  const question = target.indexOf("?");
  const path = question < 0 ? target : target.slice(0, question);
  if (isDotted(path)) return malformed("the path holds a dot segment");

  const all = readFields(text, lineEnd < 0 ? text.length : lineEnd + 2, limits.visitHeaders);
  if (all === "malformed") return malformed("a header line is malformed");
  if (all === "too_many")
    return { refused: "too_large", why: `there are more than ${limits.visitHeaders} header lines` };

  let hostHeader: string | undefined;
  let length: string | undefined;
  let coding: string | undefined;
  let connection: string | undefined;
  let upgrade: string | undefined;
  let expect: string | undefined;
  let key: string | undefined;
  let session: string | undefined;
  let authorization: string | undefined;
  let forwardedFor: string | undefined;
  const noted: Record<string, string | undefined> = {};
  let fields: Field[] = [];
  for (const field of all) {
    const { name, value } = field;
    if (name.includes("_")) {
      const meant = name.replaceAll("_", "-");
      if (requestFields.has(meant) || isProxysOwn(meant))
        return malformed(`${name} is spelled with an underscore`);
    }
    switch (requestFields.get(name)) {
      case undefined:
        if (!isProxysOwn(name)) fields.push(field);
        break;
      case "host":
        if (hostHeader !== undefined) return malformed("the request has more than one Host");
        hostHeader = value;
        break;
      case "length":
        if (length !== undefined) return malformed("the request has more than one Content-Length");
        length = value;
        fields.push(field);
        break;
      case "coding":
        if (coding !== undefined) return malformed("the request has more than one Transfer-Encoding");
        coding = value;
        break;
      case "connection":
        connection = connection === undefined ? value : `${connection},${value}`;
        break;
      case "upgrade":
        upgrade = upgrade === undefined ? value : `${upgrade},${value}`;
        break;
      case "expect":
        if (expect !== undefined) return malformed("the request has more than one Expect");
        expect = value;
        break;
      case "cookie": {
        const taken = takeSessionCookie(value);
        session ??= taken.token;
        if (taken.rest === value) fields.push(field);
        else if (taken.rest !== undefined)
          fields.push({ name, value: taken.rest, line: `Cookie: ${taken.rest}` });
        break;
      }
      case "key":
        if (key !== undefined) return malformed("the request has more than one Holdfast-Key");
        key = value;
        break;
      case "authorization":
        if (authorization !== undefined) return malformed("the request has more than one Authorization");
        authorization = value;
        fields.push(field);
        break;
      case "referer":
        if (!namesOwnPart(value)) fields.push(field);
        break;
      case "forwarded_for":
        forwardedFor = forwardedFor === undefined ? value : `${forwardedFor},${value}`;
        break;
      case "noted":
        noted[name] ??= value;
        fields.push(field);
        break;
      case "dropped":
        break;
    }
  }

  const host = hostHeader === undefined ? undefined : readHost(hostHeader);
  if (hostHeader === undefined || host === undefined)
    return malformed(hostHeader === undefined ? "the request has no Host" : "the Host is not a host name");
  if (length !== undefined && coding !== undefined)
    return malformed("the request has both Content-Length and Transfer-Encoding");
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || minor === 0))
    return malformed("the Transfer-Encoding is not `chunked` alone, in HTTP/1.1");
  const lengthBytes = length === undefined ? 0 : readLength(length);
  if (lengthBytes === undefined) return malformed("the Content-Length is not one number");
  if (expect !== undefined && expect.toLowerCase() !== "100-continue")
    return { refused: "expectation", why: "only `100-continue` can be expected" };

  const options = connection === undefined ? [] : readTokens(connection);
  if (options === undefined) return malformed("the Connection header is not a list of names");
  for (const option of options) {
    if (!mayBeHopByHop(option)) return malformed(`Connection names ${option}, which is the app's to see`);
  }
  if (options.length > 0) fields = fields.filter(({ name }) => !options.includes(name));

  return {
    method,
    target,
    path,
    minor,
    host,
    hostHeader,
    bodyBytes: coding === undefined ? lengthBytes : inChunks,
    keepAlive: minor === 1 && !options.includes("close"),
    webSocket:
      method === "GET" &&
      minor === 1 &&
      coding === undefined &&
      lengthBytes === 0 &&
      options.includes("upgrade") &&
      upgrade?.toLowerCase() === "websocket",
    expectsContinue: expect !== undefined && minor === 1 && (coding !== undefined || lengthBytes > 0),
    key,
    session,
    misplacedKey: authorization !== undefined && holdsPlatformToken(authorization),
    forwardedFor,
    accept: noted["accept"],
    origin: noted["origin"],
    fetchSite: noted["sec-fetch-site"],
    fetchMode: noted["sec-fetch-mode"],
    fetchDest: noted["sec-fetch-dest"],
    fields,
  };
};
