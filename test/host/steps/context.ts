import type { Hand } from "../hand.ts";
import type { Machine } from "../machine.ts";
import type { Report } from "../report.ts";

/** What every step works with. The machine is another one after a power cut. */
export interface Context {
  readonly report: Report;
  machine: Machine;
  /** Starts QEMU again on the same disk. */
  readonly startAgain: () => Promise<Machine>;
  readonly random: (bound: number) => number;
}

const minute = 60_000;
/** Ceilings, not expectations: an emulated processor is some twenty times slower than a real one. */
export const ceilings = { boot: 10 * minute, up: 25 * minute, call: 5 * minute } as const;

/** Runs a script in the clone and quotes it with its output. Throws unless it ends with 0. */
export const quoted = async (
  { report, machine }: Context,
  script: string,
  timeoutMs: number = ceilings.call,
): Promise<string> => {
  report.note(`# ${script}`);
  const { status, text } = await machine.hand.run(script, { timeoutMs, directory: cloneDirectory });
  report.quote(text);
  if (status !== 0) throw new Error(`it ended with ${status}`);
  return text;
};

/** As `quoted`, without printing: small looks. */
export const asked = (hand: Hand, script: string, timeoutMs: number = ceilings.call): Promise<string> =>
  hand.expect(script, { timeoutMs, directory: cloneDirectory });

export const cloneDirectory = "/root/holdfast";
export const pinnedNode = "node_modules/node/bin/node";
export const address = "http://127.0.0.1:7300";
export const keyFile = "/var/lib/holdfast/assistant-key";
export const holdfast = "node bin/holdfast.mjs";

/** Throws `otherwise` when it does not hold. */
export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}
