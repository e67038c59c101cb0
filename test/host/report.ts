import { stripVTControlCharacters } from "node:util";

/** What the run shows: one line for each thing that was looked for, with what was seen. */
export interface Report {
  section(title: string): void;
  /** Something seen that is no check. */
  note(text: string): void;
  /** Quotes what the guest printed, indented. */
  quote(text: string): void;
  /** Counts as passed with what it answers, or as failed with what it throws. Whether it passed. */
  check(title: string, look: () => Promise<string> | string): Promise<boolean>;
  /** Prints the sum as the last line. */
  end(): { readonly passed: number; readonly failed: number };
}

export const createReport = (write: (text: string) => void): Report => {
  let passed = 0;
  let failed = 0;
  return {
    section: (title) => write(`\n== ${title}\n`),
    note: (text) => write(`  · ${text}\n`),
    quote: (text) => {
      for (const line of readable(text).split("\n")) write(`    | ${line}\n`);
    },
    check: async (title, look) => {
      try {
        const seen = await look();
        passed += 1;
        write(`  ✔ ${title}${seen === "" ? "" : `: ${readable(seen)}`}\n`);
        return true;
      } catch (error) {
        failed += 1;
        write(`  ✖ ${title}: ${readable(error instanceof Error ? error.message : String(error))}\n`);
        return false;
      }
    },
    end: () => {
      write(`\n${passed} passed, ${failed} failed\n`);
      return { passed, failed };
    },
  };
};

/** The guest's text without the control characters by which Debian's tools move a terminal's cursor. */
const readable = (text: string): string =>
  stripVTControlCharacters(text)
    .trimEnd()
    .replaceAll(/[^\P{Cc}\n]/gu, "");
