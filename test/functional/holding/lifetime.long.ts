import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import { createComputer } from "../../support/computer.ts";
import { causesUntil, untilOnlyListed } from "../../support/holding.ts";
import { hangMs } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

test("an ephemeral computer ends by itself and says why, with its snapshots and children; a promoted one stays", async () => {
  const fields = { lifetime_ms: limits.lifetimeMinMs };
  const [ends, stays] = [await createComputer(assistant, fields), await createComputer(assistant, fields)];
  await client.snapshots.create({ computer: ends, name: "goes-with-it" });
  const { computer: child } = await client.children.create({ computer: ends, name: "goes-too" });
  await client.computers.promote({ computer: stays });
  const told = await causesUntil(assistant, ends, "computer.destroyed", limits.lifetimeMinMs + 2 * hangMs);
  assert.equal(told.at(-1), "computer.destroyed expired", told.join("; "));
  await untilOnlyListed(instance);
  const { computers } = await client.computers.list({ limit: 200 });
  assert.deepEqual(
    computers.map(({ id }) => id).filter((id) => id === ends || id === stays || id === child.id),
    [stays],
  );
});
