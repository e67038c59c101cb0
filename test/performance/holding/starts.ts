import { randomBytes } from "node:crypto";
import type { HoldfastClient } from "@holdfast/sdk";
import type { Instance } from "../../support/instance.ts";
import { untilWarm } from "../../support/warm.ts";
import { summarize, type Summary, timed } from "../statistics.ts";

export interface Starts {
  /** Milliseconds from nothing to the first result, of a computer that was warm. */
  readonly warm: Summary;
  readonly cold: Summary;
  /** Of twenty at once, with a pool of `poolSize` and without one. */
  readonly burst: { readonly on: Summary; readonly off: Summary; readonly failed: number };
}

const poolSize = 4;
const atOnce = 20;

/** Creations, with the pool of warm computers and without; rounds of both take turns. */
export const measureStarts = async (
  instance: Instance,
  client: HoldfastClient,
  options: { readonly rounds: number },
): Promise<Starts> => {
  const one = async (name: string): Promise<number> =>
    timed(async () => {
      await client.computers.create({ name });
      await client.processes.exec({ computer: name, argv: ["/bin/true"] });
    });
  const samples = { warm: [] as number[], cold: [] as number[], on: [] as number[], off: [] as number[] };
  let failed = 0;
  const burst = async (into: number[]): Promise<void> => {
    const names = Array.from({ length: atOnce }, () => newName());
    const results = await Promise.allSettled(names.map(one));
    for (const result of results)
      if (result.status === "fulfilled") into.push(result.value);
      else failed += 1;
    await Promise.allSettled(names.map((computer) => client.computers.destroy({ computer })));
  };
  const single = async (into: number[]): Promise<void> => {
    const name = newName();
    into.push(await one(name));
    await client.computers.destroy({ computer: name });
  };
  // Turning the pool on and off takes programs down: a few turns, with several samples in each.
  const turns = Math.max(2, Math.min(4, Math.floor(options.rounds / 3)));
  for (let turn = 0; turn < turns; turn += 1) {
    await instance.up({}, ["--warm", String(poolSize)]);
    for (let count = 0; count < options.rounds; count += 1) {
      await untilWarm(instance, poolSize);
      await single(samples.warm);
    }
    await untilWarm(instance, poolSize);
    await burst(samples.on);
    await instance.up({}, ["--warm", "0"]);
    await single([]);
    for (let count = 0; count < options.rounds; count += 1) await single(samples.cold);
    await burst(samples.off);
  }
  return {
    warm: summarize(samples.warm),
    cold: summarize(samples.cold),
    burst: { on: summarize(samples.on), off: summarize(samples.off), failed },
  };
};

export const newName = (): string => `bench-x${randomBytes(5).toString("hex")}`;
