import assert from "node:assert/strict";
import { test } from "node:test";
import { createIds, systemClock } from "@holdfast/kit";
import { stages } from "../../../packages/control/src/app.ts";
import { openStages } from "../../../packages/control/src/dispatch/stages.ts";
import type { OperationContext } from "../../../packages/control/src/domain/handler.ts";

const context: OperationContext = {
  operationId: createIds(systemClock)("operation"),
  operation: "computer.create",
  principal: {
    kind: "assistant",
    id: "asst_00000000000000000000",
    accountId: "acc_00000000000000000000",
    name: "anybody",
    ceilings: null,
    credentialId: "key_00000000000000000000",
    expiresAtMs: null,
    confirmedUntilMs: 0,
  },
  source: { door: "http", address: "127.0.0.1" },
  idempotencyKey: null,
  startedAtMs: 0,
  signal: new AbortController().signal,
  body: null,
  lastEventId: null,
};

/** Goes red when a stage is built: then its report says so, and this test is replaced by tests of what the stage does. */
test("the stages that nothing stands behind say so, and pass everything", async () => {
  assert.deepEqual(
    stages.map(({ stage, enforced }) => ({ stage, enforced })),
    [
      { stage: "kill_switch", enforced: false },
      { stage: "approval", enforced: false },
      { stage: "budget", enforced: false },
    ],
  );
  for (const { detail } of stages) assert.match(detail, /is built yet|are built yet/);
  await openStages.killSwitch.check(context, {});
  await openStages.approvals.require(context, {});
  const reservation = await openStages.budget.reserve(context, {});
  await reservation.settle(undefined as never, "succeeded");
});
