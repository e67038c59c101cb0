export interface OwnerCode {
  readonly code: string;
  readonly expires_at_ms: number;
}

/**
 * What `up` says of the owner. A code is made only while no owner has enrolled: later it would be one more way to take an owner's place,
 * lying in a terminal for nothing. On a terminal only: a file or pipe could be read by an assistant later.
 */
export const ownerText = async (
  instance: string,
  enrolled: string | null,
  isTerminal: boolean,
  mint: () => Promise<OwnerCode>,
  nowMs: number,
): Promise<string> => {
  const login = `holdfast owner login${instance === "default" ? "" : ` --instance ${instance}`}`;
  if (enrolled !== null) return `\nOwner: ${enrolled}; passphrase forgotten? \`${login}\`\n`;
  if (!isTerminal) return `\nOwner's one-time login: run \`${login}\` as root in a terminal.\n`;
  const { code, expires_at_ms } = await mint();
  return `\nOwner's one-time login (${minutesUntil(expires_at_ms, nowMs)} minutes):  ${code}\n  holdfast owners enrol --context ${instance}\n`;
};

/** What `owner login` says of the code it made. */
export const loginText = (
  instance: string,
  enrolled: string | null,
  { code, expires_at_ms }: OwnerCode,
  nowMs: number,
): string => {
  const minutes = minutesUntil(expires_at_ms, nowMs);
  const replaces =
    enrolled === null ? "" : `Whoever redeems it is the owner ${enrolled}, whose passphrase it replaces.\n`;
  return `One-time login, good for ${minutes} minutes and one use:\n\n  ${code}\n\nRedeem it with \`holdfast owners enrol --context ${instance}\`.\n${replaces}`;
};

const minutesUntil = (atMs: number, nowMs: number): number => Math.round((atMs - nowMs) / 60_000);
