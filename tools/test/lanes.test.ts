import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { root } from "../node24.mjs";
import { groups } from "./groups.ts";
import { inOrder, isShared, queueOf, type TestFile } from "./lanes.ts";

/** Put together here, so that this file itself is not taken for one of them. */
const calls = (name: string): string => `const used = await ${name}();`;
const file = (path: string, shared: boolean, alone = false): TestFile => ({
  path,
  group: "group",
  shared,
  alone,
});

test("a file shares the run's instance by what it calls, and not when it has one of its own", () => {
  for (const name of ["useInstance", "useAssistant", "useComputer", "useRest"])
    assert.equal(isShared(calls(name)), true, name);
  for (const name of ["usePrivateInstance", "usePostgres", "useHosted"])
    assert.equal(isShared(calls(name)), false, name);
});

test("lanes with an instance take the files that share it first, the others take none of them, and each file runs once", () => {
  const queue = queueOf([
    file("a", true),
    file("b", false),
    file("c", true),
    file("d", true, true),
    file("e", false),
    file("f", false),
  ]);
  const taken = [true, false, true, true, false, false].map((withInstance) => queue.next(withInstance)?.path);
  assert.deepEqual(taken, ["a", "b", "c", "e", "f", undefined]);
  assert.equal(queue.next(true), undefined);
  assert.deepEqual(
    queue.alone.map(({ path }) => path),
    ["d"],
  );
});

test("files that bring up much are first", () => {
  const texts: Readonly<Record<string, string>> = { b: calls("usePrivateInstance"), d: calls("useCellHost") };
  const files = ["a", "b", "c", "d"].map((path) => file(path, false));
  assert.deepEqual(
    inOrder(files, (path) => texts[path] ?? "").map(({ path }) => path),
    ["b", "d", "a", "c"],
  );
});

test("the files that a group runs alone are files of it", () => {
  for (const { name, files, alone = [] } of groups) {
    const there = globSync([...files], { cwd: root, exclude: ["**/node_modules/**"] });
    assert.deepEqual(
      alone.filter((path) => !there.includes(path)),
      [],
      name,
    );
  }
});
