import { HoldfastError } from "@holdfast/contract";

/** What people and programs take for something else than somebody's project. */
const reserved: ReadonlySet<string> = new Set([
  "account",
  "accounts",
  "admin",
  "administrator",
  "api",
  "app",
  "auth",
  "autoconfig",
  "autodiscover",
  "billing",
  "cdn",
  "console",
  "dashboard",
  "dns",
  "docs",
  "ftp",
  "gateway",
  "help",
  "holdfast",
  "imap",
  "internal",
  "isatap",
  "localhost",
  "login",
  "mail",
  "mcp",
  "mx",
  "ns",
  "ns1",
  "ns2",
  "ns3",
  "ns4",
  "oauth",
  "pop",
  "postmaster",
  "proxy",
  "root",
  "security",
  "signin",
  "smtp",
  "sso",
  "static",
  "status",
  "support",
  "system",
  "webmail",
  "webmaster",
  "wpad",
  "www",
]);

/** Letters and digits that are not taken for one another. */
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789";
const endings = 3;
const endingLength = 4;

/** Slugs to try, the first that is free counts. Throws `invalid_input` for one that was asked for and nobody may have. */
export const slugCandidates = (
  name: string,
  asked: string | undefined,
  random: (bytes: number) => Buffer,
): readonly string[] => {
  if (asked !== undefined) {
    if (reserved.has(asked))
      throw new HoldfastError("invalid_input", `slug: ${asked} is reserved`, {
        issues: [{ path: ["slug"], message: "reserved; choose another" }],
      });
    return [asked];
  }
  const withEndings = Array.from({ length: endings }, () => {
    const ending = [...random(endingLength)].map((byte) => alphabet[byte % alphabet.length]).join("");
    return `${name}-${ending}`;
  });
  return reserved.has(name) ? withEndings : [name, ...withEndings];
};
