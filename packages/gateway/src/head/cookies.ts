import { sessionCookie } from "@holdfast/contract";

/** A Cookie header without the gateway's own; the rest byte for byte as it came. */
export interface TakenCookie {
  /** Undefined: nothing else was in it. */
  readonly rest: string | undefined;
  readonly token: string | undefined;
}

const ours = sessionCookie.toLowerCase();

/**
 * Takes the gateway's own out; the first counts. Whatever else holds its name goes too, in whatever case: a list that somebody joined by
 * commas must not carry a session to an app as part of another cookie.
 */
export const takeSessionCookie = (value: string): TakenCookie => {
  if (!value.toLowerCase().includes(ours)) return { rest: value, token: undefined };
  let token: string | undefined;
  const rest = value.split(";").filter((pair) => {
    if (!pair.toLowerCase().includes(ours)) return true;
    const equals = pair.indexOf("=");
    const name = (equals < 0 ? pair : pair.slice(0, equals)).trim();
    if (name === sessionCookie && token === undefined)
      token = equals < 0 ? "" : pair.slice(equals + 1).trim();
    return false;
  });
  const text = rest.join(";").replace(/^[ \t]+/, "");
  return { rest: text === "" ? undefined : text, token };
};

/**
 * A Set-Cookie of an app as a browser may see it: undefined when it would be the gateway's own cookie; without `Domain`, so that it stays
 * with the one origin and reaches no other project.
 */
export const confineCookie = (value: string): string | undefined => {
  const [pair = "", ...attributes] = value.split(";");
  const equals = pair.indexOf("=");
  const name = (equals < 0 ? pair : pair.slice(0, equals)).trim();
  // Browsers take `=name=value` for a cookie without a name whose value is sent as if it were one.
  if (
    name.toLowerCase() === ours ||
    pair
      .replace(/^[\s=]+/, "")
      .toLowerCase()
      .startsWith(ours)
  )
    return undefined;
  const kept = attributes.filter((attribute) => {
    const sign = attribute.indexOf("=");
    return (sign < 0 ? attribute : attribute.slice(0, sign)).trim().toLowerCase() !== "domain";
  });
  return kept.length === attributes.length ? value : [pair, ...kept].join(";");
};

/** What of Clear-Site-Data concerns the app's own origin: cookies would be cleared for the whole domain. Undefined: nothing is left. */
export const confineClearing = (value: string): string | undefined => {
  const kept = new Set<string>();
  for (const part of value.split(",").map((text) => text.trim().toLowerCase())) {
    if (part === '"cache"' || part === '"storage"') kept.add(part);
    if (part === '"*"') kept.add('"cache"').add('"storage"');
  }
  return kept.size > 0 ? [...kept].join(", ") : undefined;
};
