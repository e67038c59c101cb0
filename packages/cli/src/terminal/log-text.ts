import { printable } from "./printable.ts";

/**
 * A service's log for a terminal, piece by piece: colours are left out, other control characters shown and not obeyed, lines ended by
 * carriage returns become lines. A sequence that is cut between two pieces is kept for the next one.
 */
export class LogText {
  #rest = "";

  next(piece: string): string {
    const text = this.#rest + piece;
    const cutAt = text.search(unfinished);
    this.#rest = cutAt < 0 ? "" : text.slice(cutAt);
    return clean(cutAt < 0 ? text : text.slice(0, cutAt));
  }

  /** What is left when nothing more comes. */
  end(): string {
    const text = clean(this.#rest);
    this.#rest = "";
    return text;
  }
}

/** A whole text of a computer's, a file or an output, as a terminal may have it. */
export const shownText = (text: string): string => {
  const log = new LogText();
  return log.next(text) + log.end();
};

const escape = "\u001b";
const colour = new RegExp(`${escape}\\[[0-9;:]*m`, "g");
/** At the end: what may become a colour or the end of a line; not longer than any colour is. */
const unfinished = new RegExp(`(?:\\r|${escape}(?:\\[[0-9;:]{0,32})?)$`);

const clean = (text: string): string =>
  // A run of carriage returns is met once: looking for its line break from each of them takes the square of a long one.
  printable(
    text
      .replaceAll(colour, "")
      .replaceAll(/(\r+)(\n?)/g, (_run, returns: string, end: string) =>
        "\n".repeat(end === "" ? returns.length : 1),
      ),
  );
