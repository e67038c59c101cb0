import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";

/** How a script in the guest ended: its exit status or signal, with standard output and error as they came. */
export interface Ending {
  readonly status: number | string;
  readonly text: string;
}

export interface RunOptions {
  readonly timeoutMs: number;
  readonly directory?: string;
  /** Each piece of output as it comes. */
  readonly onText?: (text: string) => void;
}

/** The host's end of `guest/hand.mjs`. */
export interface Hand {
  /** The boot id of the next start of the guest's hand; one that came since the last call counts. Throws when none comes in time. */
  boot(timeoutMs: number): Promise<string>;
  /** Throws when it does not end in time, or the guest is gone. */
  run(script: string, options: RunOptions): Promise<Ending>;
  /** As `run`; throws with what it said unless its status is 0. */
  expect(script: string, options: RunOptions): Promise<string>;
  /** Ends every script that waits; there is no answer to come. */
  lost(reason: string): void;
}

const message = z.union([
  z.object({ hello: z.string() }),
  z.object({ id: z.number(), text: z.string() }),
  z.object({ id: z.number(), status: z.union([z.number(), z.string()]) }),
]);

interface Running {
  text: string;
  readonly onText: (text: string) => void;
  readonly resolve: (status: number | string) => void;
  readonly reject: (error: Error) => void;
}

export const createHand = (socket: Socket): Hand => {
  const running = new Map<number, Running>();
  const boots: string[] = [];
  const waiting: ((boot: string) => void)[] = [];
  let next = 0;

  const receive = (line: string): void => {
    let json: unknown;
    try {
      json = JSON.parse(line);
    } catch {
      // The rest of a line that a reboot cut.
      return;
    }
    const parsed = message.safeParse(json);
    if (!parsed.success) return;
    const said = parsed.data;
    if ("hello" in said) {
      const waiter = waiting.shift();
      if (waiter) waiter(said.hello);
      else boots.push(said.hello);
      return;
    }
    const script = running.get(said.id);
    if (!script) return;
    if ("status" in said) {
      running.delete(said.id);
      script.resolve(said.status);
    } else {
      script.text += said.text;
      script.onText(said.text);
    }
  };
  createInterface({ input: socket }).on("line", receive);
  socket.on("error", () => undefined);

  const run: Hand["run"] = async (script, { timeoutMs, directory = "/root", onText = () => undefined }) => {
    next += 1;
    const id = next;
    const { promise, resolve, reject } = Promise.withResolvers<number | string>();
    const entry: Running = { text: "", onText, resolve, reject };
    running.set(id, entry);
    const timer = setTimeout(
      () =>
        reject(new Error(`not ended within ${timeoutMs / 1000} s: ${script}\n${entry.text.slice(-2000)}`)),
      timeoutMs,
    );
    socket.write(`${JSON.stringify({ id, script, directory })}\n`);
    try {
      return { status: await promise, text: entry.text };
    } finally {
      clearTimeout(timer);
      running.delete(id);
    }
  };

  return {
    run,
    expect: async (script, options) => {
      const { status, text } = await run(script, options);
      if (status !== 0) throw new Error(`\`${script}\` ended with ${status}: ${text.slice(-3000)}`);
      return text.trim();
    },
    boot: (timeoutMs) =>
      new Promise((resolve, reject) => {
        const before = boots.shift();
        if (before !== undefined) return resolve(before);
        const timer = setTimeout(
          () => reject(new Error(`the guest did not come up within ${timeoutMs / 1000} s`)),
          timeoutMs,
        );
        waiting.push((boot) => {
          clearTimeout(timer);
          resolve(boot);
        });
      }),
    lost: (reason) => {
      for (const script of running.values()) script.reject(new Error(reason));
      running.clear();
    },
  };
};
