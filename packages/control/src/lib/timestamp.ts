/** RFC 3339 in UTC, as all operations answer times. */
export const timestamp = (ms: number): string => new Date(ms).toISOString();

export const timestampOrNull = (ms: number | null): string | null => (ms === null ? null : timestamp(ms));
