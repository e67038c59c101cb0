import assert from "node:assert/strict";
import { test } from "node:test";
import { createComputer } from "../../support/computer.ts";
import { untilValue } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";

const { assistant } = await useAssistant();

test("the start and the end of a process are told once, however many look at it meanwhile", async () => {
  const { client } = assistant;
  const computer = await createComputer(assistant);
  const running = client.processes.exec({ computer, command: "sleep 2", wait_ms: 20_000 });
  const id = await untilValue("the process is listed", async () => {
    const { processes } = await client.processes.list({ computer });
    return processes[0]?.id;
  });
  await Promise.all(Array.from({ length: 5 }, () => client.processes.get({ computer, process: id })));
  await running;
  await client.processes.exec({ computer, command: "true" });

  const kinds: string[] = [];
  const signal = AbortSignal.timeout(10_000);
  let last = "";
  for await (const event of client.events.stream({ after: 0 }, { signal })) {
    if (event.target === id) kinds.push(event.kind);
    else if (event.kind === "process.ended") last = event.kind;
    if (last !== "") break;
  }
  assert.deepEqual(kinds, ["process.started", "process.ended"]);
});
