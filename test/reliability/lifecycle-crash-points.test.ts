import assert from "node:assert/strict";
import { test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import { hangMs, until } from "../support/until.ts";
import { crashFiles } from "./rounds.ts";
import { struck } from "./struck.ts";

/** Control is killed at each named point while a computer is archived and while it comes back: its disk is whole at each. */
const { files, environment } = crashFiles("lifecycle");
const instance = await usePrivateInstance("crash-life", environment);
const assistant = await instance.assistant();
const { ask, killedAt } = struck(instance, assistant, files.control);

const state = async (computer: string): Promise<unknown> =>
  (await ask("GET", `/v1/computers/${computer}`)).body["state"];
const shell = async (computer: string, command: string): Promise<unknown> => {
  const { body } = await ask("POST", `/v1/computers/${computer}/exec`, { command, wait_ms: 50_000 });
  return body["stdout"] ?? JSON.stringify(body);
};
const make = async (name: string): Promise<void> => {
  assert.equal((await ask("POST", "/v1/computers", { name })).status, 201);
  await shell(name, "echo kept > /work/kept; ln -s kept /work/link; rm /etc/motd");
};
/** Everything is as it was, and it goes on as if nothing had happened. */
const check = async (name: string): Promise<void> => {
  await until("it runs again", async () => (await shell(name, "cat /work/link")) === "kept\n", {
    withinMs: hangMs,
  });
  assert.equal(await shell(name, "test -e /etc/motd || echo gone"), "gone\n");
  const again = await ask("POST", `/v1/computers/${name}/archive`, { wait_ms: 50_000 });
  assert.equal(again.body["state"], "archived", JSON.stringify(again.body));
  assert.equal(await shell(name, "cat /work/link"), "kept\n");
  await ask("DELETE", `/v1/computers/${name}`);
  assert.deepEqual(await instance.leftovers([]), []);
};

for (const point of ["computer-before-pack", "computer-packed", "computer-before-seal", "computer-sealed"])
  test(`killed at ${point}: it is archived, and comes back whole`, async () => {
    await make(point);
    await killedAt(point, () => ask("POST", `/v1/computers/${point}/archive`, { wait_ms: 50_000 }));
    await until("it is archived", async () => (await state(point)) === "archived", { withinMs: hangMs });
    await check(point);
  });

for (const point of ["computer-before-seal", "computer-sealed"])
  test(`killed at ${point} and wanted awake before it is archived: it is, and comes back whole`, async () => {
    const name = `${point}-woken`;
    await make(name);
    await killedAt(point, () => ask("POST", `/v1/computers/${name}/archive`, { wait_ms: 50_000 }));
    await ask("POST", `/v1/computers/${name}/wake`, {});
    await check(name);
  });

for (const point of [
  "computer-before-unpack",
  "computer-unpacking",
  "computer-unpacked",
  "computer-archive-gone",
])
  test(`killed at ${point}: it comes back whole`, async () => {
    await make(point);
    await ask("POST", `/v1/computers/${point}/archive`, { wait_ms: 50_000 });
    await killedAt(point, () => ask("POST", `/v1/computers/${point}/wake`, { wait_ms: 50_000 }));
    await until("it is awake", async () => (await state(point)) === "awake", { withinMs: hangMs });
    await check(point);
  });
