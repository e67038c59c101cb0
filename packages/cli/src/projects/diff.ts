import { printable } from "../terminal/printable.ts";

/** A unified diff for a terminal: coloured by what each line is; what it carries from the computer is shown, never obeyed. */
export const diffForTerminal = (diff: string, color: boolean): string => {
  let inHunk = false;
  return diff
    .split("\n")
    .map((line) => {
      if (line.startsWith("diff --git ")) inHunk = false;
      const isHunkHead = line.startsWith("@@");
      inHunk ||= isHunkHead;
      const text = printable(line.replace(/\r$/, ""));
      const paint = isHunkHead ? cyan : inHunk ? paints[line.charAt(0)] : bold;
      return color && paint !== undefined && text !== "" ? `\x1b[${paint}m${text}\x1b[0m` : text;
    })
    .join("\n");
};

const bold = 1;
const cyan = 36;
const paints: Readonly<Record<string, number>> = { "+": 32, "-": 31 };
