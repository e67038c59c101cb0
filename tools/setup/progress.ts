import { hanging } from "@holdfast/cli/lines";

/** How a step ended. `skipped`: it held already. `changed`: it mended something that was there. */
export type StepOutcome = "done" | "changed" | "skipped";

export interface StepResult<T> {
  readonly outcome: StepOutcome;
  readonly detail: string;
  readonly value: T;
}

export interface Progress {
  /** Runs one step and prints one line for it; a step that fails throws with its title in front. */
  step<T>(title: string, run: (note: (text: string) => void) => Promise<StepResult<T>>): Promise<T>;
  /** Whether any step so far did more than look. */
  changed(): boolean;
}

/** Lines for people on `stream`; on a terminal the current line is kept up to date. */
export const createProgress = (
  stream: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number },
  monotonic: () => number,
): Progress => {
  let anyChange = false;
  return {
    changed: () => anyChange,
    step: async (title, run) => {
      const name = title.padEnd(18);
      const since = monotonic();
      const note = (text: string): void => {
        if (!stream.isTTY) return;
        stream.write(
          `\r\u001b[K  …       ${name} ${clean(text).slice(0, Math.max(20, (stream.columns ?? 80) - 32))}`,
        );
      };
      note("");
      try {
        const { outcome, detail, value } = await run(note);
        anyChange ||= outcome !== "skipped";
        const took = (monotonic() - since) / 1000;
        const seconds = took >= 1 ? ` (${took.toFixed(1)} s)` : "";
        const [first = "", ...more] = `${detail}${seconds}`.split("\n");
        const line = hanging(`  ${outcome.padEnd(7)} ${name} `, first, widthFor(stream));
        stream.write(`${stream.isTTY ? "\r\u001b[K" : ""}${[line, ...more].join("\n")}\n`);
        return value;
      } catch (cause) {
        stream.write(`${stream.isTTY ? "\r\u001b[K" : ""}  failed  ${name}\n`);
        throw new Error(`${title}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
      }
    },
  };
};

/** Columns of a terminal; undefined where nobody looks. */
export const widthFor = (stream: {
  readonly isTTY?: boolean;
  readonly columns?: number;
}): number | undefined => (stream.isTTY ? (stream.columns ?? 80) : undefined);

const clean = (text: string): string => text.replace(/[^\x20-\x7e]/g, " ");
