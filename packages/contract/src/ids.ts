import { z } from "zod";

/** Ids are `<prefix>_` and 20 characters of lower-case Crockford base32: 48 bits of milliseconds, then 52 random bits. */
export const idPrefixes = {
  account: "acc",
  owner: "own",
  assistant: "asst",
  key: "key",
  computer: "cmp",
  process: "prc",
  service: "svc",
  operation: "opr",
  event: "evt",
  session: "ses",
  invitation: "inv",
  project: "prj",
  deployment: "dep",
  share: "shr",
  visit: "vis",
  hold: "hld",
  schedule: "sch",
  run: "run",
  snapshot: "snp",
  offer: "off",
  cell: "cel",
  node: "node",
} as const;

export type IdKind = keyof typeof idPrefixes;

export const idPattern = (kind: IdKind): RegExp => new RegExp(`^${idPrefixes[kind]}_[0-9a-hjkmnp-tv-z]{20}$`);

export const idSchema = (kind: IdKind) =>
  z.string().regex(idPattern(kind), `an id like ${idPrefixes[kind]}_…`);

/** A one-time code without what people add or mistake: spaces, hyphens and capitals; letters that look like digits are those digits. */
export const plainLoginCode = (typed: string): string =>
  typed
    .toLowerCase()
    .replaceAll(/[^0-9a-z]/g, "")
    .replaceAll("o", "0")
    .replaceAll(/[il]/g, "1");
