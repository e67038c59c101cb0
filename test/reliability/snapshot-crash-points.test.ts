import assert from "node:assert/strict";
import { test } from "node:test";
import { call, type Reply } from "../support/control.ts";
import { usePrivateInstance } from "../support/instance.ts";
import { hangMs, until, untilValue } from "../support/until.ts";
import { crashFiles } from "./rounds.ts";
import { struck } from "./struck.ts";

/** Control is killed at each named point of what it does to snapshots, forks, children and offers: each is there whole or not at all. */
const { files, environment } = crashFiles("snapshots");
const instance = await usePrivateInstance("crash-snap", environment);
const { ask, killedAt, repeat } = struck(instance, await instance.assistant(), files.control);
assert.equal((await ask("POST", "/v1/computers", { name: "box" })).status, 201);

type Body = Readonly<Record<string, unknown>>;
const shell = async (computer: string, command: string): Promise<string> => {
  const { body } = await ask("POST", `/v1/computers/${computer}/exec`, { command, wait_ms: 30_000 });
  assert.equal((body["process"] as Body | undefined)?.["exit_code"], 0, JSON.stringify(body));
  return String(body["stdout"]);
};
const names = async (computer: string): Promise<readonly string[]> =>
  ((await ask("GET", `/v1/computers/${computer}/snapshots`)).body["snapshots"] as Body[]).map(({ name }) =>
    String(name),
  );
const remove = (computer: string): Promise<Reply> => ask("DELETE", `/v1/computers/${computer}`);

for (const point of ["snapshot-admitted", "snapshot-taken"])
  test(`killed at ${point}: the snapshot is there or it is not, and the same request answers it`, async () => {
    await shell("box", `echo ${point} > /work/file`);
    const path = "/v1/computers/box/snapshots";
    await killedAt(point, () => ask("POST", path, { name: point }, point));
    const again = await repeat(path, { name: point }, point);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    assert.equal(again.body["name"], point);
    assert.deepEqual(await names("box"), [point]);
    await shell("box", "rm /work/file");
    const restored = await ask("POST", `${path}/${point}/restore`, { wait_ms: 30_000 });
    assert.equal(restored.status, 200, JSON.stringify(restored.body));
    assert.equal(await shell("box", "cat /work/file"), `${point}\n`);
    for (const name of await names("box")) await ask("DELETE", `${path}/${name}`);
  });

test("killed at snapshot-deleted: it is gone, and its name is free", async () => {
  const path = "/v1/computers/box/snapshots";
  await ask("POST", path, { name: "goes" });
  await killedAt("snapshot-deleted", () => ask("DELETE", `${path}/goes`));
  assert.deepEqual(await names("box"), []);
  assert.equal((await ask("POST", path, { name: "goes" })).status, 201);
  await ask("DELETE", `${path}/goes`);
});

for (const point of [
  "restore-admitted",
  "computer-before-restore",
  "computer-restore-kept",
  "computer-restored",
])
  test(`killed at ${point}: it is restored once, and what was replaced is kept`, async () => {
    const path = "/v1/computers/box/snapshots";
    await shell("box", "echo one > /work/file");
    await ask("POST", path, { name: "one" });
    await shell("box", "echo two > /work/file");
    await killedAt(point, () => ask("POST", `${path}/one/restore`, { wait_ms: 30_000 }, point));
    const again = await repeat(`${path}/one/restore`, { wait_ms: 30_000 }, point);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.equal(await shell("box", "cat /work/file"), "one\n");
    const before = String(again.body["before"]);
    assert.equal((await names("box")).length, 2);
    await ask("POST", `${path}/${before}/restore`, { wait_ms: 30_000 });
    assert.equal(await shell("box", "cat /work/file"), "two\n");
    for (const name of await names("box")) await ask("DELETE", `${path}/${name}`);
  });

for (const point of ["computer-before-volume", "computer-origin-ready", "computer-identity-renewed"])
  test(`killed at ${point}: one fork is made, and what was taken for it is gone`, async () => {
    await shell("box", `echo ${point} > /work/file`);
    const body = { name: `fork-${point.slice(9)}`, wait_ms: 30_000 };
    const path = "/v1/computers/box/fork";
    await killedAt(point, () => ask("POST", path, body, point));
    const again = await repeat(path, body, point);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.equal(await shell(body.name, "cat /work/file"), `${point}\n`);
    assert.deepEqual(await names("box"), []);
    await remove(body.name);
  });

for (const point of ["operation-admitted", "computer-origin-ready"])
  test(`killed at ${point} of a child's making: no child is left whose key nobody has, and asking again makes one`, async () => {
    const body = { name: `child-${point.slice(0, 8)}`, wait_ms: 30_000 };
    const path = "/v1/computers/box/children";
    await killedAt(point, () => ask("POST", path, body, point));
    const again = await repeat(path, body, point);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    const child = String((again.body["computer"] as Body)["id"]);
    const seen = await call(instance.url, String(again.body["secret"]), "GET", "/v1/computers");
    assert.deepEqual(
      (seen.body["computers"] as Body[]).map(({ id }) => id),
      [child],
    );
    const mine = (await ask("GET", "/v1/computers")).body["computers"] as Body[];
    assert.deepEqual(
      mine
        .filter(({ parent, desired_state }) => parent !== null && desired_state !== "destroyed")
        .map(({ id }) => id),
      [child],
    );
    await remove(child);
  });

const offered = async (name: string): Promise<{ readonly child: string; readonly offer: Body }> => {
  await shell("box", "rm -rf /work/*; mkdir /work/dir; echo old > /work/dir/a; echo old > /work/b");
  const made = await ask("POST", "/v1/computers/box/children", { name, wait_ms: 30_000 });
  const child = String((made.body["computer"] as Body)["id"]);
  await shell(
    child,
    "echo new > /work/dir/a; echo new > /work/b; mkdir /work/dir/d; echo new > /work/dir/d/c",
  );
  const { body: offer } = await ask("POST", `/v1/computers/${child}/offers`, {
    paths: ["/work/dir", "/work/b"],
  });
  return { child, offer };
};
const look = () => shell("box", "cd /work; cat dir/a b; cat dir/d/c 2> /dev/null; ls -A");

for (const point of ["offer-accepting", "offer-received"])
  test(`killed at ${point}: nothing of it is on the parent, and it can be accepted still`, async () => {
    const { child, offer } = await offered(point);
    const path = `/v1/offers/${String(offer["id"])}/accept`;
    const body = { digest: offer["digest"] };
    await killedAt(point, () => ask("POST", path, body, point));
    await until("nothing is left of it", async () => (await look()) === "old\nold\nb\ndir\n", {
      withinMs: hangMs,
    });
    const again = await repeat(path, body, point);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.equal(await look(), "new\nnew\nnew\nb\ndir\n");
    await remove(child);
  });

for (const point of ["offer-placing", "offer-placed", "offer-cleared", "offer-accepted"])
  test(`killed at ${point}: it is finished by the next control, and the same request answers that it was`, async () => {
    const { child, offer } = await offered(point);
    const path = `/v1/offers/${String(offer["id"])}/accept`;
    const body = { digest: offer["digest"] };
    await killedAt(point, () => ask("POST", path, body, point));
    const again = await repeat(path, body, point);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.equal((again.body["offer"] as Body)["state"], "accepted");
    await until("nothing of it waits any more", async () => (await look()) === "new\nnew\nnew\nb\ndir\n", {
      withinMs: hangMs,
    });
    await remove(child);
  });

test("killed at offer-taken: it was not offered, and asking again offers it", async () => {
  const { child, offer } = await offered("offer-taken");
  const path = `/v1/computers/${child}/offers`;
  const body = { paths: ["/work/b"] };
  await killedAt("offer-taken", () => ask("POST", path, body, "again"));
  const again = await repeat(path, body, "again");
  assert.equal(again.status, 201, JSON.stringify(again.body));
  const offers = await untilValue(
    "the offers",
    async () => (await ask("GET", path)).body["offers"] as Body[],
  );
  assert.deepEqual(
    offers.map(({ id }) => id),
    [again.body["id"], offer["id"]],
  );
  await remove(child);
});
