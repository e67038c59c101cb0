import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { type Agent, AgentFault } from "../../domain/agents.ts";
import type { ManifestEntry } from "../../domain/trees.ts";
import { stagingOf } from "./paths.ts";
import { Placement } from "./placement.ts";

interface Params {
  readonly path?: string;
  readonly from?: string;
  readonly to?: string;
  readonly parents?: boolean;
  readonly recursive?: boolean;
}

const offer = "off_00000000000000000000";
const staging = stagingOf(offer);
const paths = ["/work/site", "/work/notes/today"];

const entry = (path: string, kind: ManifestEntry["kind"]): ManifestEntry => ({
  path,
  kind,
  mode: kind === "directory" ? 0o755 : 0o644,
  bytes: 0,
  digest: null,
  target: null,
});
const entries = [
  entry("/work/site", "directory"),
  entry("/work/site/a", "file"),
  entry("/work/site/fresh", "directory"),
  entry("/work/site/fresh/b", "file"),
  entry("/work/site/was-file", "directory"),
  entry("/work/site/was-file/c", "file"),
  entry("/work/site/link", "link"),
  entry("/work/notes/today", "file"),
];

/** A tree in memory that obeys as an agent does; `fails` is asked before each change, and what it throws is the answer. */
const playedAgent = (files: Readonly<Record<string, string>>, fails: () => void = () => {}) => {
  const tree = new Map(Object.entries(files));
  const missing = (path: string) => new AgentFault("not_found", "file_not_found", `no ${path}`, {});
  const parentOf = (path: string) => path.slice(0, path.lastIndexOf("/"));
  const below = (path: string) => [...tree.keys()].filter((other) => other.startsWith(`${path}/`));
  const make = (path: string, parents: boolean): void => {
    if (parents && !tree.has(parentOf(path)) && parentOf(path) !== "") make(parentOf(path), true);
    if (tree.get(parentOf(path)) !== "dir" && parentOf(path) !== "") throw missing(path);
    if (!tree.has(path)) tree.set(path, "dir");
  };
  const plain = (method: string, params: Params): Promise<unknown> => {
    const path = params.path ?? "";
    if (method === "files.stat") {
      const found = tree.get(path);
      if (found === undefined) throw missing(path);
      return Promise.resolve({ kind: found === "dir" ? "directory" : found === "link" ? "link" : "file" });
    }
    fails();
    if (method === "files.mkdir") make(path, params.parents === true);
    else if (method === "files.delete") {
      if (!tree.has(path)) throw missing(path);
      if (params.recursive !== true && below(path).length > 0)
        throw new HoldfastError("directory_not_empty", path);
      for (const gone of [path, ...below(path)]) tree.delete(gone);
    } else {
      const { from = "", to = "" } = params;
      const moved = tree.get(from);
      if (moved === undefined || tree.get(parentOf(to)) !== "dir") throw missing(from);
      if (tree.has(to)) throw new HoldfastError("file_exists", to);
      for (const one of [from, ...below(from)]) {
        tree.set(`${to}${one.slice(from.length)}`, tree.get(one) ?? "");
        tree.delete(one);
      }
    }
    return Promise.resolve({});
  };
  const agent = { plain: async (method: string, params: Params) => plain(method, params) };
  const outside = (): Readonly<Record<string, string>> =>
    Object.fromEntries([...tree].filter(([path]) => !path.startsWith(staging)));
  return { agent: agent as unknown as Agent, outside, tree };
};

const before = {
  "/work": "dir",
  "/work/site": "dir",
  "/work/site/a": "old a",
  "/work/site/other": "untouched",
  "/work/site/was-file": "a file",
  [staging]: "dir",
  [`${staging}/old`]: "dir",
  [`${staging}/new`]: "dir",
  [`${staging}/new/work`]: "dir",
  [`${staging}/new/work/site`]: "dir",
  [`${staging}/new/work/site/a`]: "new a",
  [`${staging}/new/work/site/fresh`]: "dir",
  [`${staging}/new/work/site/fresh/b`]: "new b",
  [`${staging}/new/work/site/was-file`]: "dir",
  [`${staging}/new/work/site/was-file/c`]: "new c",
  [`${staging}/new/work/site/link`]: "link",
  [`${staging}/new/work/notes`]: "dir",
  [`${staging}/new/work/notes/today`]: "new today",
};
const untouched = {
  "/work": "dir",
  "/work/site": "dir",
  "/work/site/a": "old a",
  "/work/site/other": "untouched",
  "/work/site/was-file": "a file",
};
const after = {
  "/work": "dir",
  "/work/notes": "dir",
  "/work/notes/today": "new today",
  "/work/site": "dir",
  "/work/site/a": "new a",
  "/work/site/fresh": "dir",
  "/work/site/fresh/b": "new b",
  "/work/site/link": "link",
  "/work/site/other": "untouched",
  "/work/site/was-file": "dir",
  "/work/site/was-file/c": "new c",
};

/** Throws at the change of this number, once. */
const failingAt = (step: number) => {
  let steps = 0;
  return () => {
    steps += 1;
    if (steps === step) throw new HoldfastError("disk_full", "no room");
  };
};
const changes = 10;

test("what is offered takes its places, and nothing else is touched", async () => {
  const { agent, outside } = playedAgent(before);
  const placement = new Placement(agent, offer, paths, entries);
  await placement.refuseDetours();
  await placement.place();
  assert.deepEqual(outside(), after);
  await placement.place();
  assert.deepEqual(outside(), after);
});

test("cut off at any step, it is finished by who comes next", async () => {
  let cut = 0;
  for (let step = 1; step <= changes + 1; step += 1) {
    const { agent, outside } = playedAgent(before, failingAt(step));
    try {
      await new Placement(agent, offer, paths, entries).place();
    } catch {
      cut += 1;
    }
    await new Placement(agent, offer, paths, entries).place();
    assert.deepEqual(outside(), after, `cut off at ${step}`);
  }
  assert.equal(cut, changes);
});

test("failed at any step, it is taken back to what was there; then it can be done after all", async () => {
  for (let step = 1; step <= changes; step += 1) {
    const { agent, outside } = playedAgent(before, failingAt(step));
    const placement = new Placement(agent, offer, paths, entries);
    await assert.rejects(placement.place(), { code: "disk_full" });
    await placement.takeBack();
    assert.deepEqual(outside(), untouched, `failed at ${step}`);
    await placement.place();
    assert.deepEqual(outside(), after, `after ${step}`);
  }
});

test("a way that leads through a link by now is refused before anything is changed", async () => {
  const { agent, outside } = playedAgent({ "/work": "dir", "/work/notes": "link" });
  await assert.rejects(new Placement(agent, offer, paths, entries).refuseDetours(), { code: "wrong_state" });
  assert.deepEqual(outside(), { "/work": "dir", "/work/notes": "link" });
});
