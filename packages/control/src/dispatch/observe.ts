import type { Logger } from "@holdfast/kit";
import type { Result } from "../domain/handler.ts";
import type { Reservation } from "../domain/ports.ts";
import type { RecordSink } from "../domain/record-sink.ts";
import { asHoldfastError } from "./failure.ts";
import type { Progress } from "./progress.ts";
import type { Recorder } from "./recorder.ts";
import { untilEnd } from "./streams.ts";

/**
 * Runs what only looks. It is recorded in batches, at the end of its stream where it has one: no durable statement is on its path. Looking is
 * not charged, so what was reserved for it is given back then.
 */
export const createObserve =
  (parts: { readonly records: RecordSink; readonly recorder: Recorder; readonly logger: Logger }) =>
  async (
    progress: Progress,
    reservation: Pick<Reservation, "release">,
    run: () => Promise<Result>,
  ): Promise<Result> => {
    const giveBack = (): Promise<void> =>
      reservation
        .release()
        .catch((error: unknown) => parts.logger.warn("a reservation was not given back", { error }));
    try {
      parts.records.reserve();
    } catch (error) {
      await giveBack();
      throw error;
    }
    progress.admitted = true;
    const finish = async (error: unknown, target: string | null): Promise<void> => {
      const failure = error === undefined ? null : asHoldfastError(error, parts.logger, progress.operationId);
      parts.recorder.ended(progress, target, failure);
      progress.leave();
      await giveBack();
    };
    let result: Result;
    try {
      result = await run();
      progress.done = true;
    } catch (error) {
      await finish(error, null);
      throw error;
    }
    const target = result.target ?? null;
    return untilEnd(result, (error) => finish(error, target), parts.logger);
  };
