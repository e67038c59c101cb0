/**
 * `head`, then the text, in lines of at most `width` columns broken between words; further lines stand below the text's first word.
 * Undefined width (a pipe, a file): one line. A word that is longer than a line stays whole: it may be a path to copy.
 */
export const hanging = (head: string, text: string, width: number | undefined): string => {
  const indent = widthOf(head);
  if (width === undefined || width - indent < 20) return head + text;
  const lines: string[] = [];
  let line = head;
  let used = indent;
  // Runs of spaces stay as they are: some texts are aligned.
  for (const piece of text.split(/(?<=\S)(?=\s)/)) {
    const more = widthOf(piece);
    if (used + more > width && used > indent) {
      lines.push(line);
      line = " ".repeat(indent) + piece.trimStart();
      used = widthOf(line);
    } else {
      line += piece;
      used += more;
    }
  }
  return [...lines, line].join("\n");
};

/** Characters as a terminal counts them, well enough: code points, wide East Asian ones and emoji as two, marks as none. */
export const widthOf = (text: string): number => {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
};

/** As much of the text as fits, with a mark where it was cut. */
export const cut = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
};

const columnsOf = (character: string): number => {
  if (/\p{Mark}/u.test(character)) return 0;
  const wide =
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u;
  return wide.test(character) ? 2 : 1;
};

/** Each line of a text as `hanging` does one: `head` finds what stands at its beginning, then the rest. */
export const fitted = (text: string, head: RegExp, width: number | undefined): string =>
  text
    .split("\n")
    .map((line) => {
      const [, first = "", rest = ""] = head.exec(line) ?? [];
      return hanging(first, rest, width);
    })
    .join("\n");
