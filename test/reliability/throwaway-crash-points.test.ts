import assert from "node:assert/strict";
import { test } from "node:test";
import { call, type Reply } from "../support/control.ts";
import { usePrivateInstance } from "../support/instance.ts";
import { hangMs, until } from "../support/until.ts";
import { crashFiles } from "./rounds.ts";
import { struck } from "./struck.ts";

/** Control is killed at each named point of what it does in cells that nobody owns: none is left over, and asking again is enough. */
const { files, environment } = crashFiles("throwaway");
const instance = await usePrivateInstance("throw", environment);
const assistant = await instance.assistant({ computers: 50 });
const { ask, killedAt } = struck(instance, assistant, files.control);

const { id } = (await ask("POST", "/v1/computers", { name: "walked" })).body;
const snapshots = `/v1/computers/${String(id)}/snapshots`;
await ask("POST", snapshots, { name: "before" });
await ask("POST", `/v1/computers/${String(id)}/exec`, { command: "echo later > /work/later" });
await ask("POST", snapshots, { name: "after" });

const exported = await fetch(`${instance.url}${snapshots}/after/export`, {
  headers: { authorization: `Bearer ${assistant.secret}` },
});
const file = new Uint8Array(await exported.arrayBuffer());

const listed = async (): Promise<readonly { readonly id: string; readonly name: string }[]> =>
  (await ask("GET", "/v1/computers?limit=200")).body["computers"] as { id: string; name: string }[];

const nothingElse = async (): Promise<void> => {
  let left: readonly string[] = [];
  await until(
    "nothing is left of what nobody owns",
    async () => {
      left = await instance.leftovers((await listed()).map((one) => one.id));
      return left.length === 0;
    },
    { withinMs: 2 * hangMs, detail: () => left.join("; ") },
  );
};

for (const point of [
  "throwaway-recorded",
  "throwaway-volume",
  "throwaway-started",
  "throwaway-destroyed",
] as const)
  test(`killed at ${point}: the cell is destroyed, and the same comparison is answered`, async () => {
    const compare = () => ask("GET", `${snapshots}/before/diff?to=after&path=/work`);
    await killedAt(point, compare);
    const again = await compare();
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.deepEqual([again.body["added"], again.body["changed"], again.body["removed"]], [1, 0, 0]);
    await nothingElse();
  });

const importInto = async (name: string): Promise<Reply> => {
  const response = await fetch(`${instance.url}/v1/computers/import?name=${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${assistant.secret}`, "content-type": "application/octet-stream" },
    body: file,
  });
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Readonly<Record<string, unknown>> };
};

for (const point of ["import-started", "import-filled"] as const)
  test(`killed at ${point}: what is half an import is destroyed, and the name is free for another try`, async () => {
    await killedAt(point, () => importInto(point));
    let last: Reply | undefined;
    await until(
      "it can be imported",
      async () => {
        last = await importInto(point);
        return last.status === 200 || last.status === 201;
      },
      { withinMs: 2 * hangMs, detail: () => JSON.stringify(last?.body) },
    );
    const read = await call(instance.url, assistant.secret, "POST", `/v1/computers/${point}/exec`, {
      argv: ["cat", "/work/later"],
    });
    assert.equal(read.body["stdout"], "later\n", JSON.stringify(read.body));
    await ask("DELETE", `/v1/computers/${point}`);
    await nothingElse();
  });
