import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createHelperService } from "./helper-service.ts";

/** Asks a helper of one line of shell as a program of its own does; what that says and whether it ends by itself. */
const askOf = async (helper: string): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-helper-"));
  try {
    const agent = join(directory, "agent");
    await writeFile(agent, `#!/bin/sh\n${helper}\n`);
    await chmod(agent, 0o755);
    const program = `
      import { createHelperService } from ${JSON.stringify(new URL("helper-service.ts", import.meta.url).href)};
      const service = createHelperService({ agent: ${JSON.stringify(agent)}, timeoutMs: 1000 });
      for (let round = 0; round < 2; round += 1)
        await service.ask("try", {}).then(
          (reply) => console.log(JSON.stringify(reply)),
          (error) => console.log(error.code ?? "none", error.details?.step, error.message),
        );`;
    const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8",
      timeout: 10_000,
    });
    assert.equal(ended.signal, null, "it does not end by itself");
    return ended.stdout;
  } finally {
    await rm(directory, { recursive: true });
  }
};

test("a helper that rests keeps nobody from ending", async () => {
  const answers = await askOf(
    `n=0; while read -r line; do n=$((n+1)); echo "{\\"request\\":$n,\\"reply\\":{\\"n\\":$n}}"; done`,
  );
  assert.equal(answers, '{"n":1}\n{"n":2}\n');
});

test("what a step refuses is told with its name", async () => {
  const answers = await askOf(
    `read -r line; echo '{"request":1,"error":{"step":"mount","message":"no"}}'; read -r line; exit 3`,
  );
  assert.match(answers, /^computer_failed mount the host refused: mount: no\nnone undefined .*status 3\n$/);
});

test("a helper that ends, or says what is no answer, fails what waits, and is started again", async () => {
  assert.match(await askOf("read -r line; exit 4"), /^(none undefined .*status 4\n){2}$/);
  assert.match(await askOf("echo nonsense; exec sleep 5"), /^(none undefined .*SIGKILL\n){2}$/);
});

test("more is asked at once than the helper takes: the rest waits its turn", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-helper-"));
  context.after(() => rm(directory, { recursive: true }));
  const agent = join(directory, "agent");
  // As the real one, it refuses what comes while 64 are under way.
  const helper = `#!${process.execPath}
    let underWay = 0;
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { request } = JSON.parse(line);
      const say = (words) => process.stdout.write(JSON.stringify({ request, ...words }) + "\\n");
      if (underWay >= 64) return say({ error: { step: "limit", message: "too many requests at once" } });
      underWay += 1;
      setTimeout(() => { underWay -= 1; say({ reply: request }); }, 5);
    });
  `;
  await writeFile(agent, helper);
  await chmod(agent, 0o755);
  const service = createHelperService({ agent, timeoutMs: 1000 });
  const replies = await Promise.all(Array.from({ length: 200 }, () => service.ask("try", {})));
  assert.equal(new Set(replies).size, 200);
});
