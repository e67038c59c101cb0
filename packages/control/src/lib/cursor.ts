import { HoldfastError } from "@holdfast/contract";

/** Opaque to callers: they may only hand it back. */
export const encodeCursor = (position: string): string => Buffer.from(position).toString("base64url");

/** Throws `invalid_input` for a cursor that is not ours; `pattern` says what a position looks like. */
export const decodeCursor = (cursor: string | undefined, pattern: RegExp): string | undefined => {
  if (cursor === undefined) return undefined;
  const position = Buffer.from(cursor, "base64url").toString("utf8");
  if (!pattern.test(position))
    throw new HoldfastError("invalid_input", "the cursor is not one this list gave out", {
      issues: [{ path: ["cursor"], message: "use `next_cursor` of the page before" }],
    });
  return position;
};

/** Cuts a list that was read one longer than asked, and says where the next page begins. */
export const pageOf = <T>(
  rows: readonly T[],
  limit: number,
  position: (row: T) => string,
): { readonly rows: readonly T[]; readonly nextCursor: string | null } => {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { rows: shown, nextCursor: rows.length > limit && last ? encodeCursor(position(last)) : null };
};
