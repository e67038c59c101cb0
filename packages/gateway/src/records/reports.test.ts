import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, type ControlGatewayMethods } from "@holdfast/contract";
import { createLogger, type RpcClient } from "@holdfast/kit";
import { steppedClock } from "../../../../test/support/stepped-clock.ts";
import { createReports } from "./reports.ts";

const project = (number: number): string => `prj_${String(number).padStart(20, "0")}`;

test("each project whose visitors moved bytes is told of once, in messages that control takes, and old news are dropped", async () => {
  const clock = steppedClock();
  const turn = (): Promise<number> => clock.step();
  const told: (readonly string[])[] = [];
  let away = false;
  const control = {
    call: async (_method: string, { project_ids: ids }: { readonly project_ids: readonly string[] }) => {
      if (away) throw new HoldfastError("unavailable", "away");
      told.push(ids);
      return {};
    },
    close: () => {},
  } as unknown as RpcClient<ControlGatewayMethods>;
  const logger = createLogger({ program: "gateway", now: () => 0, write: () => {} });
  const reports = createReports({ control, clock, logger });
  void reports.run(new AbortController().signal);

  await turn();
  assert.equal(told.length, 0, "nothing to tell");
  for (const number of [1, 2, 1, 1]) reports.moved(project(number));
  await turn();
  assert.deepEqual(told, [[project(1), project(2)]]);
  away = true;
  reports.moved(project(3));
  await turn();
  away = false;
  for (let number = 10; number < 1210; number += 1) reports.moved(project(number));
  await turn();
  assert.ok(told.slice(1).every((ids) => !ids.includes(project(3))));
  assert.equal(new Set(told.slice(1).flat()).size, 1200);
  assert.ok(told.length > 2);
});
