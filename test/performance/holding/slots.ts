import type { OperationOutput } from "@holdfast/contract";
import type { Assistant, Instance } from "../../support/instance.ts";
import { summarize, type Summary } from "../statistics.ts";
import { newName } from "./starts.ts";

export interface Slots {
  readonly schedules: number;
  readonly perSecond: number;
  /** Milliseconds from a slot's time until its run was started. */
  readonly lateness: Summary;
  /** Slots of the time looked at without a run, and runs that did not succeed. */
  readonly missing: number;
  readonly failed: number;
}

const perSecond = 50;
const perComputer = 100;
const computersPerAssistant = 10;

/** Schedules of `true` on computers that are awake, so many that fifty slots come each second, for one whole round of all of them. */
export const measureSlots = async (instance: Instance, schedules: number): Promise<Slots> => {
  const everyMs = Math.ceil((schedules / perSecond) * 1000);
  const homes: { readonly assistant: Assistant; readonly computer: string }[] = [];
  let assistant = await instance.assistant({ computers: computersPerAssistant });
  for (let made = 0; made * perComputer < schedules; made += 1) {
    if (made > 0 && made % computersPerAssistant === 0)
      assistant = await instance.assistant({ computers: computersPerAssistant });
    const { id } = await assistant.client.computers.create({ name: newName(), keep_awake: true });
    homes.push({ assistant, computer: id });
  }
  const begin = performance.now();
  const making: Promise<unknown>[] = [];
  for (let made = 0; made < schedules; made += 1) {
    const home = homes[made % homes.length];
    if (!home) break;
    const due = begin + (made * 1000) / perSecond;
    const early = due - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    making.push(
      home.assistant.client.schedules.create({
        computer: home.computer,
        name: `of-x${made}`,
        argv: ["/bin/true"],
        every_ms: everyMs,
      }),
    );
    if (making.length >= perSecond) await Promise.all(making.splice(0));
  }
  await Promise.all(making);
  const since = Date.now();
  const until = since + everyMs;
  await new Promise((resolve) => setTimeout(resolve, everyMs + 5000));

  const lateness: number[] = [];
  let [seen, failed] = [0, 0];
  for (const { assistant: by, computer } of homes)
    for await (const run of runsOf(by, computer)) {
      const slot = Date.parse(run.slot ?? "");
      if (!(slot >= since && slot < until)) continue;
      seen += 1;
      if (run.state !== "succeeded") failed += 1;
      if (run.started_at !== null) lateness.push(Date.parse(run.started_at) - slot);
    }
  await Promise.all(homes.map(({ assistant: by, computer }) => by.client.computers.destroy({ computer })));
  return { schedules, perSecond, lateness: summarize(lateness), missing: schedules - seen, failed };
};

async function* runsOf({ client }: Assistant, computer: string): AsyncGenerator<OperationOutput<"run.get">> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: OperationOutput<"run.list"> = await client.runs.list({
      computer,
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield* page.runs;
    cursor = page.next_cursor;
  }
}
