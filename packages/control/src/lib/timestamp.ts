/** What RFC 3339 can say at most. A cell may give its files and services any time it likes. */
const latestMs = 253_402_300_799_999;

/** RFC 3339 in UTC, as all operations answer times. */
export const timestamp = (ms: number): string =>
  new Date(Math.max(0, Math.min(latestMs, Math.floor(ms)))).toISOString();

export const timestampOrNull = (ms: number | null): string | null => (ms === null ? null : timestamp(ms));
