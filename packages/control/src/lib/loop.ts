import type { Clock, Logger } from "@holdfast/kit";

export interface LoopParts {
  /** What is done again and again, as the log names it: "looking for idle computers". */
  readonly what: string;
  /** From the end of one run to the begin of the next, in milliseconds. */
  readonly everyMs: number;
  /** The same after so many runs in a row have failed, from 1 on. Not given: `everyMs`. */
  readonly retryMs?: (failures: number) => number;
  /** Nothing cuts a rest shorter than this: what rings meanwhile is looked at together. Not given: 0. */
  readonly leastMs?: number;
  /** Whether it rests before its first run, too. */
  readonly restsFirst?: boolean;
  readonly clock: Pick<Clock, "sleep">;
  readonly logger: Pick<Logger, "warn">;
}

/**
 * Work that is done from time to time until it is told to stop: never twice at the same time, and whatever it throws, it goes on. Of failures
 * in a row the first is logged: what is wrong is seldom another thing by the next try, and all else would be pushed out of the log.
 */
export class Loop {
  readonly #parts: LoopParts;
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #abort = new AbortController();
  #bell = new AbortController();
  #isRung = false;
  #running: Promise<void> = Promise.resolve();

  /** `work`: one run. Its signal aborts when the loop is to stop; then it should return or throw soon. */
  constructor(parts: LoopParts, work: (signal: AbortSignal) => Promise<void>) {
    this.#parts = parts;
    this.#work = work;
  }

  /** Aborts when the loop is to stop. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Once, and not after `stop`. */
  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when what was under way has ended. `reason`: what the signal aborts with. Never throws. */
  async stop(reason?: Error): Promise<void> {
    this.#abort.abort(reason);
    this.#bell.abort();
    await this.#running;
  }

  /** There is something to do: the next run begins now, or after the one that is under way, which may have looked already. */
  ring(): void {
    this.#isRung = true;
    this.#bell.abort();
  }

  async #run(): Promise<void> {
    const { everyMs, retryMs, restsFirst } = this.#parts;
    if (restsFirst === true) await this.#rest(everyMs);
    for (let failures = 0; !this.signal.aborted; ) {
      this.#isRung = false;
      failures = (await this.#runOnce(failures === 0)) ? 0 : failures + 1;
      await this.#rest(failures > 0 && retryMs ? retryMs(failures) : everyMs);
    }
  }

  /** Whether it went well. */
  async #runOnce(tells: boolean): Promise<boolean> {
    const { logger, what } = this.#parts;
    try {
      await this.#work(this.signal);
      return true;
    } catch (error) {
      if (tells && !this.signal.aborted) logger.warn(`${what} failed`, { error });
      return false;
    }
  }

  async #rest(ms: number): Promise<void> {
    const { clock, leastMs = 0 } = this.#parts;
    if (leastMs > 0 && !this.signal.aborted) await clock.sleep(leastMs, this.signal).catch(() => {});
    if (this.#isRung || this.signal.aborted) return;
    this.#bell = new AbortController();
    await clock.sleep(Math.max(0, ms - leastMs), this.#bell.signal).catch(() => {});
  }
}
