import { watch } from "node:fs";
import type { Clock } from "@holdfast/kit";
import { field, read, readNumber, write } from "./control-files.ts";
import type { CgroupState } from "./index.ts";

/** What both layouts do on the v2 hierarchy, on the cell's directory in it. */
export interface Core {
  freeze(directory: string): Promise<void>;
  thaw(directory: string): Promise<void>;
  kill(directory: string): Promise<void>;
  state(directory: string): Promise<CgroupState | undefined>;
  /** Milliseconds; accounted by the kernel even where no controller is enabled. */
  cpuMs(directory: string): Promise<number>;
  watch(directory: string, changed: () => void): () => void;
}

const freezeWithinMs = 5_000;
const killWithinMs = 10_000;

export const createCore = (clock: Clock): Core => {
  const state: Core["state"] = async (directory) => {
    const events = await read(`${directory}/cgroup.events`);
    if (events === undefined) return undefined;
    const freezing = (await readNumber(`${directory}/cgroup.freeze`)) === 1;
    return { populated: field(events, "populated") === 1, frozen: field(events, "frozen") === 1, freezing };
  };

  /** Whether it came about. Looks after 1, 2, 4 … ms, at most 50: freezing and killing take less than 1 ms as a rule. */
  const until = async (withinMs: number, done: () => Promise<boolean>): Promise<boolean> => {
    const deadline = clock.monotonic() + withinMs;
    for (let pauseMs = 1; !(await done()); pauseMs = Math.min(pauseMs * 2, 50)) {
      if (clock.monotonic() > deadline) return false;
      await clock.sleep(pauseMs);
    }
    return true;
  };

  return {
    state,
    freeze: async (directory) => {
      await write(`${directory}/cgroup.freeze`, "1");
      await until(freezeWithinMs, async () => {
        const now = await state(directory);
        return now === undefined || now.frozen || !now.populated;
      });
    },
    thaw: async (directory) => {
      await write(`${directory}/cgroup.freeze`, "0");
    },
    kill: async (directory) => {
      if ((await state(directory)) === undefined) return;
      await write(`${directory}/cgroup.kill`, "1");
      const isEmpty = await until(killWithinMs, async () => {
        const now = await state(directory);
        return now === undefined || !now.populated;
      });
      if (!isEmpty) throw new Error(`${directory} still had processes after ${killWithinMs} ms`);
    },
    cpuMs: async (directory) => Math.round(field(await read(`${directory}/cpu.stat`), "usage_usec") / 1000),
    watch: (directory, changed) => {
      const watcher = watch(`${directory}/cgroup.events`, { persistent: false }, changed);
      watcher.on("error", changed);
      return () => watcher.close();
    },
  };
};
