import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import { run } from "../../support/computer.ts";
import { untilValue } from "../../support/until.ts";
import { useComputer } from "../../support/use.ts";

const { assistant, computer } = await useComputer();
const { client } = assistant;

test("git that does not end is ended, takes its locks with it, and keeps no other project waiting", {
  timeout: 3 * limits.gitMs,
}, async () => {
  await client.projects.create({ computer, name: "slow" });
  await client.projects.create({ computer, name: "other" });
  // A filter is run by git itself, which holds the index locked meanwhile.
  await run(
    assistant,
    computer,
    "cd /work/slow && git config filter.slow.clean 'sleep 1000' && echo '*.slow filter=slow' > .gitattributes && echo x > a.slow",
  );
  const asked = performance.now();
  const waiting = assistant.once.projects.deploy({ project: "slow" });
  const refused = assert.rejects(waiting, (error: { code: string; message: string }) => {
    assert.equal(error.code, "git_failed");
    assert.match(error.message, /took longer than 45 s/);
    return true;
  });
  await client.projects.deploy({ project: "other" });
  assert.ok(performance.now() - asked < limits.gitMs / 2);
  await refused;
  assert.ok(performance.now() - asked < limits.gitMs + 10_000);
  const { stdout } = await run(assistant, computer, "ls /work/slow/.git | grep lock; pgrep sleep; true");
  assert.equal(stdout, "", "neither a lock nor a process is left");
  await run(assistant, computer, "cd /work/slow && git config --unset filter.slow.clean");
  const { deployment } = await client.projects.deploy({ project: "slow", message: "Faster" });
  assert.equal(deployment.message, "Faster");
});

test("a creation that takes longer than callers wait says so, goes on, and is found with the same key", {
  timeout: 4 * limits.answerMs,
}, async () => {
  // As on a host that is starved.
  await run(
    assistant,
    computer,
    `mv /usr/bin/git /usr/bin/git.quick && printf '#!/bin/sh\nsleep 16\nexec git.quick "$@"\n' > /usr/bin/git && chmod +x /usr/bin/git`,
  );
  const options = { idempotencyKey: "patience" };
  const asked = performance.now();
  await assert.rejects(assistant.once.projects.create({ computer, name: "late" }, options), {
    code: "operation_running",
  });
  assert.ok(performance.now() - asked < limits.answerMs + 3_000);
  const made = await untilValue(
    "the creation is found",
    async () => {
      try {
        return await assistant.once.projects.create({ computer, name: "late" }, options);
      } catch (error) {
        if ((error as { code?: string }).code === "operation_running") return undefined;
        throw error;
      }
    },
    limits.answerMs,
  );
  assert.deepEqual([made.slug, made.state], ["late", "no_service"]);
  await run(assistant, computer, "mv /usr/bin/git.quick /usr/bin/git");
});
