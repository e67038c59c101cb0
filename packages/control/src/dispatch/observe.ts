import type { Logger } from "@holdfast/kit";
import type { Result } from "../domain/handler.ts";
import type { RecordSink } from "../domain/record-sink.ts";
import { asHoldfastError } from "./failure.ts";
import type { Progress } from "./progress.ts";
import type { Recorder } from "./recorder.ts";
import { untilEnd } from "./streams.ts";

/** Runs what only looks. It is recorded in batches, at the end of its stream where it has one: no durable statement is on its path. */
export const createObserve =
  (parts: { readonly records: RecordSink; readonly recorder: Recorder; readonly logger: Logger }) =>
  async (progress: Progress, run: () => Promise<Result>): Promise<Result> => {
    parts.records.reserve();
    progress.admitted = true;
    const finish = (error: unknown, target: string | null): void => {
      const failure = error === undefined ? null : asHoldfastError(error, parts.logger, progress.operationId);
      parts.recorder.ended(progress, target, failure);
      progress.leave();
    };
    let result: Result;
    try {
      result = await run();
      progress.done = true;
    } catch (error) {
      finish(error, null);
      throw error;
    }
    const target = result.target ?? null;
    return untilEnd(result, (error) => Promise.resolve(finish(error, target)), parts.logger);
  };
