import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { test } from "node:test";

/** What a program says that has no descriptor left when it asks; `ask` is an expression with a promise. */
const withoutDescriptors = (module: string, ask: string): string => {
  const program = `
    import { openSync } from "node:fs";
    import * as module from ${JSON.stringify(new URL(module, import.meta.url).href)};
    for (let left = 1000; left > 0; left -= 1) try { openSync("/dev/null"); } catch { break; }
    await ${ask}.then(() => console.log("answered"), (error) => console.log("rejected:", error.message));
    setImmediate(() => {
      console.log("goes on");
      process.exit();
    });`;
  const ended = spawnSync(
    "sh",
    ["-c", 'ulimit -n 80; exec "$@"', "sh", process.execPath, "--input-type=module", "--eval", program],
    { encoding: "utf8", timeout: 10_000 },
  );
  return ended.stdout + ended.stderr.slice(0, 500);
};

test("without a descriptor a program cannot be started, and who asked goes on", () => {
  const said = withoutDescriptors("run-program.ts", `module.createProgramRunner().run("true", [])`);
  assert.match(said, /^rejected: true could not be started: .*EMFILE\ngoes on\n$/);
});

test("without a descriptor the helper cannot be asked, and who asked goes on", () => {
  const service = `module.createHelperService({ agent: "/bin/true", timeoutMs: 1000 })`;
  const said = withoutDescriptors("helper-service.ts", `${service}.ask("try", {})`);
  assert.match(said, /^rejected: .*could not be started: .*EMFILE\ngoes on\n$/);
});
