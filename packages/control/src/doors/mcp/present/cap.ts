import { limits } from "@holdfast/contract";

/** About 20,000 tokens. Outputs are bounded before they get here; this is for what surrounds them. */
const longestText = limits.replyTextBytes + 4096;

/** Cuts in the middle of nothing: whole characters only, and says so. */
export const capText = (text: string, longest = longestText): string => {
  if (text.length <= longest) return text;
  const end = longest - 120;
  // Never half of a surrogate pair.
  const cut = /[\uD800-\uDBFF]/.test(text[end - 1] ?? "") ? end - 1 : end;
  return `${text.slice(0, cut)}\n… cut here, ${text.length - cut} more characters. Ask for less at a time.`;
};
