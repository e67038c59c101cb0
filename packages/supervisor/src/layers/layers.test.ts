import assert from "node:assert/strict";
import { test } from "node:test";
import { proveLayers } from "./index.ts";

const layer = (name: string, after: readonly string[], proven: string[]) => ({
  name,
  remedy: "",
  after,
  prove: async () => {
    proven.push(name);
    return "";
  },
});

test("a layer waits for those it builds on, and one that is not there is an error, not nothing to wait for", async () => {
  const proven: string[] = [];
  const slow = {
    ...layer("slow", [], proven),
    prove: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      proven.push("slow");
      return "";
    },
  };
  await proveLayers([slow, layer("other", [], proven), layer("built on it", ["slow"], proven)]);
  assert.deepEqual(proven, ["other", "slow", "built on it"]);
  for (const layers of [
    [layer("one", ["misspelt"], proven)],
    [layer("one", ["two"], proven), layer("two", [], proven)],
  ])
    await assert.rejects(proveLayers(layers), /the layer one is to come after/);
  assert.equal(proven.length, 3, "nothing is tried then");
});
