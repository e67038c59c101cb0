import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { test } from "node:test";
import { keeperArguments } from "./keeper.ts";
import type { ProgramPlan } from "./plan.ts";

const plan: ProgramPlan = {
  name: "control",
  argv: ["/node", "main.ts"],
  user: { uid: 7, gid: 8 },
  sockets: [
    { kind: "unix", path: "/run/a.sock", gid: 9, mode: 0o660 },
    { kind: "tcp", address: "127.0.0.1:7300" },
  ],
  environment: {},
  label: "what",
  health: () => Promise.resolve(undefined),
  stopSignal: "SIGTERM",
  killSignal: "SIGKILL",
  stopMs: 1,
};
const places = { agent: "/agent", log: "/log", records: "/records" };

test("sockets keep their order, which is the order of descriptors", () => {
  const text = keeperArguments(plan, places).join(" ");
  assert.match(text, /^host program --listen \/run\/a\.sock:9:660 --listen-tcp 127\.0\.0\.1:7300 /);
  assert.match(
    text,
    / --record \/records\/control\.json --label what --log \/log\/control\.log -- \/node main\.ts$/,
  );
});

test("a program with a user of its own gets no new privileges; only root's does without", () => {
  assert.match(keeperArguments(plan, places).join(" "), / --user 7:8 --no-new-privs /);
  assert.doesNotMatch(keeperArguments({ ...plan, user: undefined }, places).join(" "), /no-new-privs|--user/);
});

test("without a descriptor a program cannot be started, and the launcher goes on", () => {
  const program = `
    import { openSync } from "node:fs";
    import { startKeeper } from ${JSON.stringify(new URL("keeper.ts", import.meta.url).href)};
    for (let left = 1000; left > 0; left -= 1) try { openSync("/dev/null"); } catch { break; }
    const plan = ${JSON.stringify(plan)};
    await startKeeper(plan, ${JSON.stringify(places)}).catch((error) => console.log(error.message));
    setImmediate(() => console.log("goes on"));`;
  const ended = spawnSync(
    "sh",
    ["-c", 'ulimit -n 80; exec "$@"', "sh", process.execPath, "--input-type=module", "--eval", program],
    { encoding: "utf8", timeout: 10_000 },
  );
  assert.equal(ended.stdout, "/agent could not be started\ngoes on\n", ended.stderr);
});
