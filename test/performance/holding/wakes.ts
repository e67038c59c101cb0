import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Assistant, Instance } from "../../support/instance.ts";
import { until } from "../../support/until.ts";
import { visit } from "../../support/visit.ts";
import { summarize, type Summary, timed } from "../statistics.ts";
import { newName } from "./starts.ts";

/** Milliseconds of a page view of a published Node app. */
export interface Wakes {
  readonly awake: Summary;
  readonly asleep: Summary;
  readonly stopped: Summary;
  readonly archived: Summary;
}

export const measureWakes = async (
  instance: Instance,
  { client }: Assistant,
  options: { readonly rounds: number },
): Promise<Wakes> => {
  const computer = newName();
  await client.computers.create({ name: computer });
  const slug = newName();
  await client.projects.create({ computer, name: "app", slug, template: "web-app" });
  await (await instance.owner()).projects.publish({ project: slug });
  const view = async (): Promise<void> => {
    const { status } = await visit(instance, slug);
    if (status !== 200) throw new Error(`a page view was answered with ${status}`);
  };
  await until("its page is there", async () => (await visit(instance, slug)).status === 200, {
    withinMs: 30_000,
  });
  const samples = {
    awake: [] as number[],
    asleep: [] as number[],
    stopped: [] as number[],
    archived: [] as number[],
  };
  for (let round = 0; round < options.rounds; round += 1) {
    samples.awake.push(await timed(view));
    await client.computers.sleep({ computer });
    samples.asleep.push(await timed(view));
    samples.awake.push(await timed(view));
    await client.computers.stop({ computer });
    samples.stopped.push(await timed(view));
    if (round % 4 > 0) continue;
    await client.computers.archive({ computer, wait_ms: 50_000 });
    samples.archived.push(await timed(view));
  }
  await client.computers.destroy({ computer });
  return {
    awake: summarize(samples.awake),
    asleep: summarize(samples.asleep),
    stopped: summarize(samples.stopped),
    archived: summarize(samples.archived),
  };
};

/** Processor time of a program, milliseconds. */
export const processorMs = async (pid: number): Promise<number> => {
  const fields =
    (await readFile(join("/proc", String(pid), "stat"), "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};
