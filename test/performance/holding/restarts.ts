import type { Assistant, Instance } from "../../support/instance.ts";
import { simulateReboot } from "../../support/reboot.ts";
import { until } from "../../support/until.ts";
import { inTurns } from "./crowd.ts";
import { newName } from "./starts.ts";

export interface Restarts {
  readonly cells: number;
  /** Milliseconds from `kill -9` of every program until a command in a cell is answered. */
  readonly programs: number;
  /** Of a simulated reboot, milliseconds from when control serves. */
  readonly first: number;
  /** One that was asked for at once, though it is the last of them. */
  readonly asked: number;
  readonly all: number;
  /** From the beginning of `up` until control served. */
  readonly up: number;
}

const patienceMs = 180_000;

/** What is back when, with so many cells awake. The instance is left without computers. */
export const measureRestarts = async (
  instance: Instance,
  { once, client }: Assistant,
  cells: number,
): Promise<Restarts> => {
  const made: string[] = [];
  await inTurns(cells, async () => {
    const { id } = await client.computers.create({ name: newName(), sleep_after_ms: 0 });
    made.push(id);
  });
  const answers = (computer: string): Promise<boolean> =>
    once.processes.exec({ computer, argv: ["/bin/true"] }).then(
      () => true,
      () => false,
    );
  await simulateReboot(instance);
  const begin = performance.now();
  const up = instance.up();
  up.catch(() => {});
  const serves = (): Promise<boolean> =>
    fetch(`${instance.url}/healthz`).then(
      async (answer) => ((await answer.json()) as { readonly ready: boolean }).ready,
      () => false,
    );
  await until("control serves", serves, { withinMs: patienceMs });
  const served = performance.now();
  const last = made.at(-1) ?? "";
  let asked = Number.NaN;
  const asking = until("the one asked for is awake", () => answers(last), { withinMs: patienceMs }).then(
    () => {
      asked = performance.now() - served;
    },
  );
  let first = Number.NaN;
  await until(
    "all are awake",
    async () => {
      const { computers } = await awake(client);
      if (computers > 0 && Number.isNaN(first)) first = performance.now() - served;
      return computers >= cells;
    },
    { withinMs: patienceMs },
  );
  const all = performance.now() - served;
  await asking;
  await up;
  const programs = await restartPrograms(instance, () => answers(last));
  await inTurns(made.length, () => client.computers.destroy({ computer: made.pop() ?? "" }));
  return { cells, programs, first, asked, all, up: served - begin };
};

/** Kills all of them and lets the unit start them again. From now on the instance is kept up. */
const restartPrograms = async (instance: Instance, answers: () => Promise<boolean>): Promise<number> => {
  instance.keepUp();
  const views = Object.values(await instance.programs());
  const pids = views
    .toSorted((a, b) => Number(b.name === "launcher") - Number(a.name === "launcher"))
    .flatMap(({ pid, keeper_pid }) => [pid, keeper_pid].filter((one) => one !== null));
  const killedAt = performance.now();
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Ended with another one.
    }
  }
  await until("a command is answered", answers, { withinMs: patienceMs });
  return performance.now() - killedAt;
};

const awake = async (client: Assistant["client"]): Promise<{ readonly computers: number }> => {
  let computers = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof client.computers.list>> = await client.computers.list({
      limit: 200,
      state: "awake",
      ...(cursor === undefined ? {} : { cursor }),
    });
    computers += page.computers.length;
    cursor = page.next_cursor;
  }
  return { computers };
};
