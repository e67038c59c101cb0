const longest = 4000;

/**
 * What another program said, for a terminal of root's: without control characters but line breaks, without what turns the direction of
 * writing around, and not endless. A program that was taken must not steer the terminal on which somebody looks for what is wrong with it.
 */
export const plainText = (text: string): string =>
  text.slice(0, longest).replaceAll(/[^\P{Cc}\n]|[\u2028-\u202e\u2066-\u2069]/gu, "?");
