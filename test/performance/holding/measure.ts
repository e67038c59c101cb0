import type { Instance } from "../../support/instance.ts";
import { type Copies, measureCopies } from "./copies.ts";
import { type Crowd, measureCrowd } from "./crowd.ts";
import { measureRestarts, type Restarts } from "./restarts.ts";
import { measureSlots, type Slots } from "./slots.ts";
import { measureStarts, type Starts } from "./starts.ts";
import { measureWakes, type Wakes } from "./wakes.ts";

export const parts = ["starts", "wakes", "copies", "slots", "restarts", "crowd"] as const;
export type Part = (typeof parts)[number];

export interface HoldingOptions {
  readonly rounds: number;
  /** Which of `parts`; all when it is empty. */
  readonly parts: readonly string[];
  readonly snapshots: number;
  readonly schedules: number;
  readonly cells: number;
  /** Only measured when there are any. */
  readonly sleeping: number;
  readonly stopped: number;
}

/** What was measured; a part that failed is told in `notRun`, and the others stand. */
export interface Holding {
  readonly starts?: Starts;
  readonly wakes?: Wakes;
  readonly copies?: Copies;
  readonly slots?: Slots;
  readonly restarts?: Restarts;
  readonly crowd?: Crowd;
  readonly notRun: Readonly<Record<string, string>>;
}

/** Everything about sleep, snapshots, schedules and warm starts, one part after the other on one instance. */
export const measureHolding = async (instance: Instance, options: HoldingOptions): Promise<Holding> => {
  const assistant = await instance.assistant({ computers: 1000, snapshots: 1000, largest_size: "large" });
  const { client } = assistant;
  const { rounds, sleeping, stopped } = options;
  const work: Readonly<Record<Part, () => Promise<unknown>>> = {
    starts: () => measureStarts(instance, client, { rounds }),
    wakes: () => measureWakes(instance, assistant, { rounds: 2 * rounds }),
    copies: () => measureCopies(instance, assistant, { rounds, snapshots: options.snapshots }),
    slots: () => measureSlots(instance, options.schedules),
    restarts: () => measureRestarts(instance, assistant, options.cells),
    crowd: () => measureCrowd(instance, { sleeping, stopped, seconds: 30 }),
  };
  const results: Record<string, unknown> = {};
  const notRun: Record<string, string> = {};
  for (const part of parts) {
    if (options.parts.length > 0 && !options.parts.includes(part)) continue;
    if (part === "crowd" && sleeping + stopped === 0) continue;
    try {
      results[part] = await work[part]();
    } catch (error) {
      notRun[part] = error instanceof Error ? error.message : String(error);
      await leaveNothing(instance);
    }
  }
  return { ...results, notRun };
};

const leaveNothing = async (instance: Instance): Promise<void> => {
  const owner = await instance.owner();
  for (;;) {
    const { computers } = await owner.computers.list({ limit: 200 });
    if (computers.length === 0) return;
    await Promise.all(computers.map(({ id }) => owner.computers.destroy({ computer: id })));
  }
};
