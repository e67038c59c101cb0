import assert from "node:assert/strict";
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
