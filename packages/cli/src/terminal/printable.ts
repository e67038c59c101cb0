/** Makes control characters visible: a file name or a reason from a computer must not move the cursor or forge a line. */
export const printable = (text: string): string =>
  text.replaceAll(/[^\P{Cc}\t\n]|[\u2028-\u202e\u2066-\u2069]/gu, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });

/** For one cell of a table: also line breaks and tabs. */
export const printableLine = (text: string): string =>
  printable(text).replaceAll("\n", "⏎").replaceAll("\t", " ");
