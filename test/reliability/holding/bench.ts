import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createComputer, run } from "../../support/computer.ts";
import { type Assistant, type Instance, usePrivateInstance } from "../../support/instance.ts";
import { until } from "../../support/until.ts";
import { untilAcknowledged } from "../acknowledge.ts";

/** Where the rounds are played: an instance of its own that is kept up, and a computer that runs through all of them. */
export interface Bench {
  readonly instance: Instance;
  readonly assistant: Assistant;
  /** Its schedule makes a run each second, and others append to its files, while the programs are killed. */
  readonly clockwork: string;
}

/** Await it at the top of a file. */
export const useBench = async (label: string): Promise<Bench> => {
  const instance = await usePrivateInstance(label);
  const assistant = await instance.assistant();
  const clockwork = await createComputer(assistant, { keep_awake: true });
  instance.keepUp();
  return { instance, assistant, clockwork };
};

/** A new name, with an ending that says which round it is of. */
export const newName = (what: string): string => `${what}-n${randomBytes(4).toString("hex")}`;

/** A computer of one round, with lines that were acknowledged. */
export interface Subject {
  readonly computer: string;
  readonly lines: readonly number[];
  /** Appends more of them. Resolves when each is acknowledged. */
  append(count: number): Promise<void>;
}

export const makeSubject = async (bench: Bench): Promise<Subject> => {
  const computer = await createComputer(bench.assistant);
  const lines: number[] = [];
  const append = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) {
      await appendLine(bench, computer, lines.length + 1);
      lines.push(lines.length + 1);
    }
  };
  await append(3);
  return { computer, lines, append };
};

/** One line, once, however often it has to be asked for. */
export const appendLine = async ({ assistant }: Bench, computer: string, line: number): Promise<void> => {
  const options = { idempotencyKey: `line-${computer}-${line}` };
  const { process } = await untilAcknowledged(`line ${line}`, () =>
    assistant.once.processes.exec({ computer, command: `echo ${line} >> /work/lines` }, options),
  );
  let last = process;
  await until(`line ${line} is written`, async () => {
    if (last.state !== "ended")
      last = await untilAcknowledged("look", () =>
        assistant.once.processes.get({ computer, process: process.id, wait_ms: 1000 }),
      );
    return last.state === "ended";
  });
  assert.equal(last.exit_code, 0, JSON.stringify(last));
};

/** What the computer has of its lines now; wakes it. */
export const linesOf = async ({ assistant }: Bench, computer: string): Promise<readonly number[]> => {
  const ran = await untilAcknowledged("cat", () =>
    assistant.once.processes.exec({ computer, argv: ["cat", "/work/lines"], wait_ms: 30_000 }),
  );
  assert.equal(ran.process.exit_code, 0, `${ran.stderr} ${JSON.stringify(ran.process)}`);
  return numbersOf(ran.stdout);
};

/** What a snapshot has of its computer's lines: it is a directory that only this host's root sees. */
export const linesOfSnapshot = async ({ instance }: Bench, snapshot: string): Promise<readonly number[]> =>
  numbersOf(
    await readFile(join(instance.data, "pool/fs/supervisor/snapshots", snapshot, "work/lines"), "utf8"),
  );

const numbersOf = (text: string): readonly number[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map(Number);

/** Runs in the subject what shows later whether its processes are the same. Answers how to look. */
export const startTicker = async (
  { assistant }: Bench,
  computer: string,
): Promise<{ readonly stillRuns: () => Promise<void> }> => {
  const { id: process } = await assistant.client.processes.start({ computer, argv: ["sleep", "86400"] });
  const look = async (): Promise<string> =>
    (await run(assistant, computer, "for p in $(pgrep -x sleep); do cut -d' ' -f1,22 /proc/$p/stat; done"))
      .stdout;
  let before = "";
  await until("it runs", async () => (before = await look()) !== "");
  return {
    stillRuns: async () => {
      const { state } = await untilAcknowledged("look", () =>
        assistant.once.processes.get({ computer, process }),
      );
      assert.deepEqual([state, await look()], ["running", before], "its processes ended");
    },
  };
};
