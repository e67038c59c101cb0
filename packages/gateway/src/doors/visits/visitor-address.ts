import { isIP, type Socket } from "node:net";
import type { RequestHead } from "../../head/request.ts";

/** The peer's address; IPv4 as such, also where the socket speaks IPv6. */
export const addressOf = (socket: Socket): string => {
  const address = socket.remoteAddress ?? "";
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
};

export const isLoopback = (address: string): boolean => address === "::1" || address.startsWith("127.");

/** Who visits: the peer, or whom the TLS proxy on this host names. What a visitor says of itself counts for nothing. */
export const visitorOf = (peer: string, head: RequestHead, believesProxy: boolean): string => {
  if (!believesProxy || !isLoopback(peer)) return peer;
  const named = head.forwardedFor?.split(",").at(-1)?.trim() ?? "";
  return isIP(named) > 0 ? named : peer;
};
