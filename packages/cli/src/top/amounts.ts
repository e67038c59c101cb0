/** `120M/1.0G`; a dash for what is not known. */
export const ofLimit = (used: number | undefined, limit: number | undefined): string =>
  used === undefined || limit === undefined ? "-" : `${short(used)}/${short(limit)}`;

export const percent = (share: number | null): string =>
  share === null ? "-" : `${Math.round(share * 100)}%`;

/** At most four characters of digits and point, and a letter: powers of 1024. */
export const short = (bytes: number): string => {
  const units = ["B", "K", "M", "G", "T", "P"];
  let amount = bytes;
  let power = 0;
  // 999.5 would be written as 1000.
  while (amount >= 999.5 && power < units.length - 1) {
    amount /= 1024;
    power += 1;
  }
  const digits = power > 0 && amount < 9.95 ? amount.toFixed(1) : String(Math.round(amount));
  return digits + (units[power] ?? "");
};
