import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileLimitMs, filesPerInstance, lanes } from "./groups.ts";
import { inOrder, queueOf, type TestFile } from "./lanes.ts";
import { type FileResult, runFile } from "./run-file.ts";

export interface Run {
  readonly files: readonly TestFile[];
  readonly long: boolean;
  /** Name of the instance of a lane. */
  readonly instance: (lane: number) => string;
  /** Takes the instance of a lane away before the files that run alone; the first lane's stays for them. */
  readonly takeDown: (instance: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Runs the files of all groups in lanes, then those that run alone. Answers how they went, by group. */
export const runFiles = async (run: Run): Promise<ReadonlyMap<string, readonly FileResult[]>> => {
  const results = new Map<string, FileResult[]>();
  for (const { group } of run.files) if (!results.has(group)) results.set(group, []);
  const scratch = await mkdtemp(join(tmpdir(), "hf-test-cost-"));
  const kind = run.long ? "long" : "normal";
  const one = async (file: TestFile, lane: number): Promise<void> => {
    const instance = file.shared ? run.instance(lane) : undefined;
    const { signal, long: live } = run;
    const limitMs = fileLimitMs[kind];
    const result = await runFile(file.path, { instance, limitMs, signal, scratch, live });
    results.get(file.group)?.push(result);
  };
  const queue = queueOf(inOrder(run.files, (path) => readFileSync(path, "utf8")));
  const { all, withInstance } = lanes[kind];
  const instances = Math.min(withInstance, Math.ceil(queue.shared / filesPerInstance));
  const lane = async (number: number): Promise<void> => {
    for (let file; !run.signal.aborted && (file = queue.next(number < instances)); ) await one(file, number);
    if (number > 0 && number < instances) await run.takeDown(run.instance(number));
  };
  await Promise.all(Array.from({ length: all }, (_, number) => lane(number)));
  for (const file of queue.alone) if (!run.signal.aborted) await one(file, 0);
  await rm(scratch, { recursive: true, force: true });
  return results;
};
