import assert from "node:assert/strict";
import { test } from "node:test";
import { projectDefinition } from "@holdfast/contract";
import { definitionText } from "./definition.ts";

test("the file of a definition says what is not so anyway, and means the same when it comes back", () => {
  const definition = projectDefinition.parse({
    web: "web",
    services: [
      { name: "web", argv: ["node", "server.mjs"], port: 20_001, restart: { policy: "on_failure" } },
      { name: "worker", command: "exec ./work", cwd: "jobs", environment: { A: "b" }, after: ["web"] },
    ],
  });
  const text = definitionText(definition);
  assert.deepEqual(projectDefinition.parse(JSON.parse(text)), definition);
  assert.doesNotMatch(text, /stop_signal|output_limit_bytes/);
  assert.equal(definitionText(projectDefinition.parse({})), '{\n  "web": null,\n  "services": []\n}\n');
});
