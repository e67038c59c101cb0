import { HoldfastError } from "@holdfast/contract";
import type { Credential } from "../../domain/principal.ts";

/**
 * Cookies are shared by all ports of a host, so the name carries the port: instances side by side do not sign each other out. Over https it
 * is a `__Host-` cookie, which no other host of the site can set.
 */
export const sessionCookieName = (address: URL): string =>
  address.protocol === "https:"
    ? "__Host-holdfast-session"
    : `holdfast-session-${address.port === "" ? "80" : address.port}`;

export const sessionCookie = (address: URL, token: string, maxAgeSeconds: number): string =>
  [
    `${sessionCookieName(address)}=${token}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${maxAgeSeconds}`,
    ...(address.protocol === "https:" ? ["Secure"] : []),
  ].join("; ");

/** What came with the request. A bearer wins over a cookie; another scheme is refused rather than ignored. */
export const credentialOf = (
  headers: { readonly authorization: string | undefined; readonly cookie: string | undefined },
  cookieName: string,
): Credential => {
  const { authorization, cookie } = headers;
  if (authorization !== undefined) {
    const token = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
    if (token === undefined)
      throw new HoldfastError("unauthenticated", "the Authorization header is not `Bearer <key>`");
    return { kind: "bearer", token };
  }
  const found = (cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${cookieName}=`));
  // Two cookies of one name: one of them was planted. Neither counts.
  if (found.length > 1) throw new HoldfastError("unauthenticated", "the session cookie came more than once");
  const token = found[0]?.slice(cookieName.length + 1);
  return token === undefined || token === "" ? { kind: "none" } : { kind: "cookie", token };
};
