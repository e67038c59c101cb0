import { cloneInGuest } from "../guest-disk.ts";
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
  const { status, text } = await machine.hand.run(script, { timeoutMs, directory: cloneInGuest });
  report.quote(text);
  if (status !== 0) throw new Error(`it ended with ${status}`);
  return text;
};

/** As `quoted`, without printing: small looks. */
export const asked = (hand: Hand, script: string, timeoutMs: number = ceilings.call): Promise<string> =>
  hand.expect(script, { timeoutMs, directory: cloneInGuest });

const pinnedNode = "node_modules/node/bin/node";

/** How things are called in the guest's clone. */
export const guest = {
  address: "http://127.0.0.1:7300",
  keyFile: "/var/lib/holdfast/assistant-key",
  holdfast: "node bin/holdfast.mjs",
  /** The command of one of the programs in `test/host/guest`. */
  program: (name: string, ...argv: readonly string[]): string =>
    [pinnedNode, `test/host/guest/${name}.ts`, ...argv].join(" "),
  /** The same for one that speaks to Holdfast as an assistant: it is told where, and with which key. */
  client: (name: string, ...argv: readonly string[]): string =>
    guest.program(name, guest.address, guest.keyFile, ...argv),
  quickstart: (): string =>
    `${pinnedNode} examples/quickstart/main.ts --url ${guest.address}/mcp --key-file ${guest.keyFile}`,
} as const;

const bootId = "/proc/sys/kernel/random/boot_id";

/** Lets `interrupt` take the host down, and checks that it comes up, as another boot. */
export const comesUpAgain = async (context: Context, interrupt: () => Promise<void>): Promise<void> => {
  const boot = await asked(context.machine.hand, `cat ${bootId}`);
  await interrupt();
  await context.report.check("the host comes up again", async () => {
    const next = await context.machine.hand.boot(ceilings.boot);
    must(next !== boot, "it is the same boot");
    return `boot id ${boot.slice(0, 8)} before, ${next.slice(0, 8)} now`;
  });
};

/** Throws `otherwise` when it does not hold. */
export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}
