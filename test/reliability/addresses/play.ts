import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Assistant, Instance } from "../../support/instance.ts";
import { announceSeed, seeded } from "../../support/seeded.ts";
import { hangMs, until } from "../../support/until.ts";
import { openSites } from "./sites.ts";
import { startCrowd } from "./visitors.ts";

/**
 * Visitors of many projects, while by turns gateway is killed and an app with all of its connections. Throws when anybody was answered with
 * bytes that were not theirs.
 */
export const playVisits = async (
  context: TestContext,
  { instance, assistant }: { readonly instance: Instance; readonly assistant: Assistant },
  options: { readonly projects: number; readonly requests: number; readonly strikes: number },
): Promise<void> => {
  const random = seeded(announceSeed(context));
  const sites = await openSites(instance, assistant, options.projects);
  const crowd = startCrowd({
    ...instance.projects,
    tags: sites.tags,
    connections: 32,
    total: options.requests,
    random,
  });
  let over = false;
  void crowd.done.finally(() => (over = true));
  const tookMs: number[] = [];
  const strikes = { gateway: 0, app: 0 };
  await crowd.served();
  for (let strike = 1; strike <= options.strikes; strike += 1) {
    const due = crowd.answered + crowd.unanswered + options.requests / (options.strikes + 2);
    await until("the visitors come on", () => over || crowd.answered + crowd.unanswered >= due, {
      withinMs: 600_000,
    });
    if (over) break;
    if (strike % 3 === 0) {
      const { computer = "", service = "" } = sites.services[random(sites.services.length)] ?? {};
      await assistant.client.services.restart({ computer, service });
      strikes.app += 1;
      continue;
    }
    const { gateway } = await instance.programs();
    assert.ok(gateway?.pid, "gateway runs");
    const since = performance.now();
    process.kill(gateway.pid, "SIGKILL");
    strikes.gateway += 1;
    await Promise.race([crowd.served(), crowd.done]);
    tookMs.push(Math.round(performance.now() - since));
  }
  await crowd.done;
  tookMs.sort((a, b) => a - b);
  context.diagnostic(
    `${sites.tags.size} projects, ${crowd.answered} answered, ${crowd.unanswered} not; gateway killed ${strikes.gateway} times, apps ${strikes.app} times; ` +
      `serving again p50 ${tookMs[Math.floor(tookMs.length / 2)] ?? "-"} ms, max ${tookMs.at(-1) ?? "-"} ms`,
  );
  assert.deepEqual(crowd.foreign, []);
  assert.ok(strikes.gateway > 0 && strikes.app > 0, "somebody was struck");
  assert.ok(crowd.answered > options.requests / 2, `${crowd.answered} of ${options.requests} were answered`);
  for (const took of tookMs) assert.ok(took < hangMs, `serving again took ${took} ms`);
};
