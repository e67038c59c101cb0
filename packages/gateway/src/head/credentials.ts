import { decodeAscii } from "./path.ts";

/** Where our credentials stand although an app reads there. */

const platformToken = /(?<![A-Za-z0-9_-])hf[slvt]?_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/;
const basic = /^basic\s+([A-Za-z0-9+/_=-]+)$/i;

/** Whether an Authorization holds a key, session, visit, ticket or share of ours: by any scheme, also as a name or password. */
export const holdsPlatformToken = (authorization: string): boolean => {
  if (platformToken.test(authorization)) return true;
  const encoded = basic.exec(authorization)?.[1];
  return encoded !== undefined && platformToken.test(Buffer.from(encoded, "base64").toString("latin1"));
};

/** Whether a Referer names the gateway's own part of an origin, where tickets and share links are; however it is spelled. */
export const namesOwnPart = (referer: string): boolean =>
  decodeAscii(referer).toLowerCase().includes("/.holdfast");
