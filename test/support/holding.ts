import type { OperationOutput } from "@holdfast/contract";
import type { Assistant, Instance } from "./instance.ts";
import { hangMs, until } from "./until.ts";

type Computer = OperationOutput<"computer.get">;
type Run = OperationOutput<"run.get">;

/** The shortest idle time that may be asked for; what waits for it takes at least so long. */
export const soonMs = 10_000;
/** Far beyond that: who looks for what is idle looks only every few seconds, and the host may be loaded. */
export const idleHangMs = 2 * soonMs + hangMs;

/** Waits, without touching it, until the computer is in this state. Throws when it hangs. */
export const untilState = async (
  { client }: Pick<Assistant, "client">,
  computer: string,
  state: Computer["state"],
  withinMs = idleHangMs,
): Promise<Computer> => {
  let last = await client.computers.get({ computer });
  await until(
    `${last.name} is ${state}`,
    async () => {
      if (last.state !== state) await new Promise((resolve) => setTimeout(resolve, 200));
      last = await client.computers.get({ computer });
      return last.state === state;
    },
    { withinMs, detail: () => `${last.state}, on its way to ${last.desired_state}: ${last.reason ?? ""}` },
  );
  return last;
};

/** All runs of a schedule, oldest first. */
export const runsOf = async (
  { client }: Pick<Assistant, "client">,
  schedule: string,
): Promise<readonly Run[]> => {
  const runs: Run[] = [];
  let cursor: string | null = null;
  do {
    const page: OperationOutput<"run.list"> = await client.runs.list({
      schedule,
      limit: 200,
      ...(cursor === null ? {} : { cursor }),
    });
    runs.push(...page.runs);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return runs.toReversed();
};

const isOver = ({ state }: Run): boolean =>
  state === "succeeded" || state === "failed" || state === "skipped" || state === "cancelled";

/** The schedule's runs once it is paused and none of them goes on any more. */
export const settledRuns = async (
  assistant: Pick<Assistant, "client">,
  schedule: string,
): Promise<readonly Run[]> => {
  await assistant.client.schedules.pause({ schedule });
  let runs: readonly Run[] = [];
  await until(
    "no run goes on",
    async () => {
      runs = await runsOf(assistant, schedule);
      return runs.every(isOver);
    },
    { withinMs: 2 * hangMs, detail: () => JSON.stringify(runs.filter((run) => !isOver(run))) },
  );
  return runs;
};

/** Times of the slots, in order, of those that a slot made (also a missed one). */
export const slotTimes = (runs: readonly Run[]): readonly number[] =>
  runs.flatMap(({ slot }) => (slot === null ? [] : [Date.parse(slot)])).toSorted((a, b) => a - b);

/** What of the slots is not as it should be: each `everyMs` after the one before, none twice, none left out. */
export const slotFaults = (runs: readonly Run[], everyMs: number): readonly string[] => {
  const times = slotTimes(runs);
  return times.slice(1).flatMap((at, index) => {
    const before = times[index] ?? 0;
    return at - before === everyMs
      ? []
      : [`${new Date(at).toISOString()} follows ${new Date(before).toISOString()}`];
  });
};

/** Waits until the host has nothing of this instance but what belongs to computers that are listed. */
export const untilOnlyListed = async (instance: Instance): Promise<void> => {
  const owner = await instance.owner();
  let left: readonly string[] = [];
  await until(
    "nothing is left of what is not listed",
    async () => {
      const { computers } = await owner.computers.list({ limit: 200 });
      left = await instance.leftovers(computers.map(({ id }) => id));
      return left.length === 0;
    },
    { withinMs: hangMs, detail: () => left.join("; ") },
  );
};

/** What is told of a computer up to an event of this kind, each as its kind and its cause. Throws when that does not come. */
export const causesUntil = async (
  { client }: Pick<Assistant, "client">,
  computer: string,
  last: string,
  withinMs: number,
): Promise<readonly string[]> => {
  const told: string[] = [];
  const enough = new AbortController();
  const timer = setTimeout(() => enough.abort(new Error(`no ${last}: ${told.join("; ")}`)), withinMs);
  try {
    for await (const { kind, data } of client.events.stream(
      { after: 0, computer },
      { signal: enough.signal },
    )) {
      const cause = typeof data["cause"] === "string" ? data["cause"] : "";
      if (kind.startsWith("computer.")) told.push(`${kind} ${cause}`.trim());
      if (kind === last) break;
    }
  } finally {
    clearTimeout(timer);
    enough.abort();
  }
  return told;
};
