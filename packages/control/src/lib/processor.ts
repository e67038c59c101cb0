import { cpus } from "node:os";

/** How busy the host's processors were since it was asked last, from 0 to 1; 0 at first. */
export type ProcessorLoad = () => number;

export const createProcessorLoad = (read = readTicks): ProcessorLoad => {
  let last = read();
  return () => {
    const now = read();
    const all = now.all - last.all;
    const share = all > 0 ? 1 - (now.idle - last.idle) / all : 0;
    last = now;
    return Math.min(1, Math.max(0, share));
  };
};

/** Since the host's start, over all processors. */
const readTicks = (): { readonly idle: number; readonly all: number } => {
  let [idle, all] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { idle, all };
};
