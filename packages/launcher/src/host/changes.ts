import { watch } from "node:fs";
import type { Clock } from "@holdfast/kit";

/** Changes of one file, made known by the kernel. */
export interface Changes {
  /** Resolves when the file has changed since the last call, at the latest after `ms`; rejects with the signal's reason. */
  next(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** The file has to be there. A watch that breaks only makes every `next` last its `ms`. */
export const watchChanges = (path: string, clock: Clock): Changes => {
  let changed = Promise.withResolvers<void>();
  const watcher = watch(path, { persistent: false }, () => changed.resolve());
  watcher.on("error", () => watcher.close());
  return {
    next: async (ms, signal) => {
      const waited = new AbortController();
      const late = clock.sleep(ms, AbortSignal.any([signal, waited.signal]));
      try {
        await Promise.race([changed.promise, late]);
      } finally {
        waited.abort();
        late.catch(() => {});
        changed = Promise.withResolvers();
      }
    },
    close: () => watcher.close(),
  };
};
