import { HoldfastError, limits } from "@holdfast/contract";

/** `Idempotency-Key`: a structured-field string (`"abc"`, as the draft has it) or the bare token most clients send. */
export const idempotencyKeyOf = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  const quoted = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
    .exec(text)?.[1]
    ?.replaceAll(/\\(.)/g, "$1");
  const key = quoted ?? (/^[\x21\x23-\x7e]+$/.test(text) ? text : "");
  if (key.length === 0 || key.length > limits.idempotencyKeyLength)
    throw new HoldfastError(
      "malformed_request",
      `Idempotency-Key is 1 to ${limits.idempotencyKeyLength} printable characters`,
      { limit: limits.idempotencyKeyLength },
    );
  return key;
};

/** `If-Match`: one entity tag, as `ETag` gave it, or `*`. A weak one never matches. */
export const ifMatchOf = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  return /^"([^"]*)"$/.exec(text)?.[1] ?? text;
};

/** One `Range: bytes=a-b` or `bytes=a-` as offset and length. Others (suffixes, lists) are ignored, as RFC 9110 lets a server do. */
export const rangeOf = (
  header: string | undefined,
): { readonly offset: number; readonly length?: number } | undefined => {
  const match = /^bytes=([0-9]{1,15})-([0-9]{1,15})?$/.exec(header?.trim() ?? "");
  if (!match) return undefined;
  const first = Number(match[1]);
  if (match[2] === undefined) return { offset: first };
  const last = Number(match[2]);
  return last < first ? undefined : { offset: first, length: last - first + 1 };
};

/** For ETag: quoted. Undefined for what no header can hold: a computer's agent may call its versions anything. */
export const entityTag = (version: string): string | undefined =>
  /^[\x21\x23-\x7e]+$/.test(version) ? `"${version}"` : undefined;

/** For Content-Disposition (RFC 6266): a plain fallback and the exact name, which may hold anything. */
export const attachment = (given: string): string => {
  const fileName = given.toWellFormed();
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const exact = encodeURIComponent(fileName).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
};
