import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import { hangMs, until } from "../support/until.ts";
import { sqlOf, untilWarm } from "../support/warm.ts";
import { crashFiles } from "./rounds.ts";
import { struck } from "./struck.ts";

/** Control is killed at each named point of a warm cell's life: each is a computer's, or waits, or is gone. */
const { files, environment } = crashFiles("warm-points");
const instance = await usePrivateInstance("warmp", environment);
await instance.up({}, ["--warm", "1"]);
const assistant = await instance.assistant({ computers: 50 });
const { ask, killedAt, repeat } = struck(instance, assistant, files.control);
const sql = sqlOf(instance);

const waiting = (): readonly string[] =>
  sql("select computer_id from warm_cells").split("\n").filter(Boolean);

/** One waits, and there is no trace of any other computer. */
const settled = async (...computers: readonly string[]): Promise<void> => {
  await untilWarm(instance, 1);
  await until(
    "nothing else is left",
    async () => (await instance.leftovers([...waiting(), ...computers])).length === 0,
    { withinMs: 2 * hangMs, detail: () => JSON.stringify(waiting()) },
  );
};

for (const point of ["warm-making", "warm-volume", "warm-started", "warm-ready"])
  test(`killed at ${point}: one waits afterwards, and half a one nowhere`, async () => {
    await settled();
    // Another is made once this one has taken the one that waits.
    await killedAt(point, () => ask("POST", "/v1/computers", { name: point }, point));
    const again = await repeat("/v1/computers", { name: point }, point);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    await settled(String(again.body["id"]));
    await ask("DELETE", `/v1/computers/${point}`);
  });

for (const point of ["warm-going", "warm-destroyed"])
  test(`killed at ${point}: the stale one is gone`, async () => {
    await settled();
    const [stale = ""] = waiting();
    await killedAt(point, async () => {
      sql("update warm_cells set image = 'stale'");
      return ask("GET", "/v1/computers");
    });
    await until("it is gone", () => !waiting().includes(stale), { withinMs: 2 * hangMs });
    await settled();
  });

for (const point of ["computer-before-claimed", "computer-claimed"])
  test(`killed at ${point}: nothing was made, and the repeat makes one that is awake once, at its full share`, async () => {
    await settled();
    await killedAt(point, () => ask("POST", "/v1/computers", { name: point }, point));
    assert.equal(sql(`select count(*) from computers where name = '${point}'`), "0");
    const again = await repeat("/v1/computers", { name: point }, point);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    const claimed = String(again.body["id"]);
    await until("it is awake", async () => {
      const { body } = await ask("GET", `/v1/computers/${point}`);
      return body["state"] === "awake";
    });
    const told = sql(`select kind from events where target = '${claimed}' order by id`).split("\n");
    assert.deepEqual(told, ["computer.created", "computer.awake"]);
    assert.equal((await ask("POST", `/v1/computers/${point}/exec`, { argv: ["true"] })).status, 200);
    assert.deepEqual(await sharesOf(claimed), ["usual"]);
    await settled(claimed);
    const [next = ""] = waiting();
    assert.deepEqual(await sharesOf(next), ["low"]);
    await ask("DELETE", `/v1/computers/${point}`);
  });

/** In either layout of cgroups. */
const sharesOf = async (id: string): Promise<readonly string[]> => {
  const shares: string[] = [];
  for await (const file of glob(`/sys/fs/cgroup/{,*/}holdfast-*/${id}/{cpu.weight,cpu.shares}`)) {
    const share = Number(await readFile(file, "utf8"));
    shares.push(share === (file.endsWith("weight") ? 100 : 1024) ? "usual" : "low");
  }
  return shares;
};
