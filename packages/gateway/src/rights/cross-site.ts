import type { RequestHead } from "../head/request.ts";

/**
 * Whether a request may use the session in its cookie. `no`: another site makes a browser change something or open a WebSocket.
 * `not_shown`: another site embeds or fetches; it gets what it would get without the cookie. Other projects count as other sites, although
 * browsers call them the same one. What a person follows to here (a top-level navigation) is theirs. Neither Sec-Fetch-Site nor Origin:
 * no browser, since every browser sends one of them with what changes something.
 */
export const isSafeWithCookie = (
  head: Pick<RequestHead, "method" | "webSocket" | "origin" | "fetchSite" | "fetchMode" | "fetchDest">,
  ownOrigin: string,
): "yes" | "no" | "not_shown" => {
  const { fetchSite, origin } = head;
  const changes = head.webSocket || !["GET", "HEAD", "OPTIONS"].includes(head.method);
  if (fetchSite === "same-origin" || fetchSite === "none") {
    return changes && origin !== undefined && origin.toLowerCase() !== ownOrigin ? "no" : "yes";
  }
  if (changes) {
    if (fetchSite !== undefined) return "no";
    return origin === undefined || origin.toLowerCase() === ownOrigin ? "yes" : "no";
  }
  if (fetchSite === undefined)
    return origin === undefined || origin.toLowerCase() === ownOrigin ? "yes" : "not_shown";
  // `empty`: a navigation that the app's own worker passes on; Chromium then no longer says what it is for.
  const followed = head.fetchDest === "document" || head.fetchDest === "empty";
  return head.fetchMode === "navigate" && followed ? "yes" : "not_shown";
};
