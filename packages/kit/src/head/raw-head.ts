import type { IncomingMessage } from "node:http";

/**
 * What Node's HTTP parser lets through and we do not: two Host headers, absolute-form or authority-form targets, ambiguous framing,
 * HTTP/0.9 and 1.0 with chunks, userinfo in Host, dot segments, control bytes. Returns why the head is refused, or nothing.
 * Called before anything else looks at the request.
 */
export const refuseRawHead = (
  request: Pick<IncomingMessage, "rawHeaders" | "url" | "httpVersion" | "method">,
): string | undefined => {
  if (request.httpVersion !== "1.1" && request.httpVersion !== "1.0")
    return `HTTP/${request.httpVersion} is not spoken here`;
  const target = request.url ?? "";
  if (!target.startsWith("/")) return "the request target is not a path";
  // oxlint-disable-next-line no-control-regex -- control bytes are exactly what is refused
  if (/[\u0000-\u0020\u007f-\uffff\\#]/.test(target))
    return "the request target holds a byte that is not allowed there";
  const path = target.split("?", 1)[0] ?? "";
  if (path.split("/").some((segment) => /^(\.|%2e){1,2}$/i.test(segment)))
    return "the path holds a dot segment";
  if (/%(2f|5c|00)/i.test(path) && !path.startsWith("/v1/")) return "the path holds an encoded separator";

  const seen = new Map<string, string[]>();
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = (request.rawHeaders[index] ?? "").toLowerCase();
    seen.set(name, [...(seen.get(name) ?? []), request.rawHeaders[index + 1] ?? ""]);
  }
  const hosts = seen.get("host") ?? [];
  if (hosts.length !== 1) return `the request has ${hosts.length} Host headers`;
  if (!/^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:[0-9]{1,5})?$/i.test(hosts[0] ?? ""))
    return "the Host header is not a host name";
  const lengths = seen.get("content-length") ?? [];
  const codings = seen.get("transfer-encoding") ?? [];
  if (lengths.length > 1 || (lengths[0] !== undefined && !/^[0-9]{1,15}$/.test(lengths[0])))
    return "Content-Length is not one number";
  if (codings.length > 0) {
    if (codings.length > 1 || codings[0]?.toLowerCase() !== "chunked")
      return "Transfer-Encoding is not chunked alone";
    if (lengths.length > 0) return "the request has both Content-Length and Transfer-Encoding";
    if (request.httpVersion === "1.0") return "HTTP/1.0 has no chunks";
  }
  if ((seen.get("authorization") ?? []).length > 1)
    return "the request has more than one Authorization header";
  return undefined;
};
