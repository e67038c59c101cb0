import assert from "node:assert/strict";
import type { OperationOutput } from "@holdfast/contract";
import type { Assistant } from "../support/instance.ts";
import { patienceMs, untilAcknowledged } from "./acknowledge.ts";

/** Numbered operations whose outcomes can be told apart afterwards. Each is repeated with its own idempotency key until acknowledged. */
export interface Driver {
  /** Ends after what is under way has been acknowledged; throws what an operation was refused with for good. */
  finish(): Promise<Acknowledged>;
  readonly count: () => number;
}

export interface Acknowledged {
  readonly lines: ReadonlySet<number>;
  readonly started: ReadonlySet<number>;
  readonly files: ReadonlySet<number>;
  readonly computers: ReadonlyMap<string, string>;
  /** Commands that were answered as lost: control ended before it had handed them to the agent. They may not have run. */
  readonly lost: ReadonlySet<number>;
  /** Requests that had to be sent more than once. */
  readonly repeated: number;
}

export const startDriver = (assistants: readonly Assistant[], computer: string, round: number): Driver => {
  const lines = new Set<number>();
  const started = new Set<number>();
  const files = new Set<number>();
  const computers = new Map<string, string>();
  const lost = new Set<number>();
  let repeated = 0;
  let number = round * 100_000;
  let over = false;

  const acknowledge = <T>(what: string, attempt: () => Promise<T>): Promise<T> =>
    untilAcknowledged(what, attempt, () => (repeated += 1));

  /** A repeated request may be answered with its process still on the way. */
  const untilEnded = async (
    { processes }: Assistant["once"],
    n: number,
    process: OperationOutput<"process.get">,
  ): Promise<OperationOutput<"process.get">> => {
    const deadline = performance.now() + patienceMs;
    let now = process;
    while (now.state !== "ended" && performance.now() < deadline) {
      now = await acknowledge(`wait ${n}`, () =>
        processes.get({ computer, process: process.id, wait_ms: 2000 }),
      );
    }
    return now;
  };

  const settle = (into: Set<number>, n: number, process: OperationOutput<"process.get">): void => {
    if (process.exit?.kind === "lost") return void lost.add(n);
    assert.equal(process.exit_code, 0, `${n}: ${JSON.stringify(process)}`);
    into.add(n);
  };

  const operate = async ({ once }: Assistant, n: number): Promise<void> => {
    const options = { idempotencyKey: `op-${n}` };
    switch (n % 8) {
      case 3: {
        await acknowledge(`write ${n}`, () =>
          once.files.write({ computer, path: `/work/files/${n}`, content: String(n) }),
        );
        files.add(n);
        return;
      }
      case 5: {
        const process = await acknowledge(`start ${n}`, () =>
          once.processes.start({ computer, command: `echo ${n} >> /work/started` }, options),
        );
        settle(started, n, await untilEnded(once, n, process));
        return;
      }
      case 7: {
        const name = `k-${n.toString(36).replace(/[^a-z0-9]/g, "")}`;
        const made = await acknowledge(`create ${n}`, () => once.computers.create({ name }, options));
        computers.set(made.id, name);
        // Made under a control that was about to end, it may have been handed over before it was awake.
        await acknowledge(`wake ${n}`, () => once.computers.wake({ computer: made.id }));
        await acknowledge(`sleep ${n}`, () => once.computers.sleep({ computer: made.id }));
        await acknowledge(`wake ${n}`, () => once.computers.wake({ computer: made.id }));
        // Half of them, and all beyond a few: a slow start of the programs must not let the load run into the ceiling.
        if (n % 16 === 7 || computers.size > 10) {
          await acknowledge(`destroy ${n}`, () => once.computers.destroy({ computer: made.id }));
          computers.delete(made.id);
        }
        return;
      }
      default: {
        const { process } = await acknowledge(`exec ${n}`, () =>
          once.processes.exec({ computer, command: `echo ${n} >> /work/lines` }, options),
        );
        settle(lines, n, await untilEnded(once, n, process));
      }
    }
  };

  const work = async (assistant: Assistant): Promise<void> => {
    while (!over) {
      number += 1;
      await operate(assistant, number);
    }
  };
  const running = Promise.all(assistants.map(work));
  // Looked at in `finish`; until then a failure must not end the test's process.
  running.catch(() => {});
  return {
    count: () => lines.size + started.size + files.size,
    finish: async () => {
      over = true;
      await running;
      return { lines, started, files, computers, lost, repeated };
    },
  };
};
