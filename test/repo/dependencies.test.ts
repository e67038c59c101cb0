import assert from "node:assert/strict";
import { test } from "node:test";
import { read, tracked } from "./sources.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const manifests = tracked("package.json").map((file) => [file, JSON.parse(read(file)) as Manifest] as const);
const all = manifests.flatMap(([file, { dependencies, devDependencies }]) =>
  Object.entries({ ...dependencies, ...devDependencies }).map(([name, version]) => ({ file, name, version })),
);

test("every dependency has its line in CONTRIBUTING.md, and the other way round", () => {
  const listed = [...read("CONTRIBUTING.md").matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name ?? "");
  const used = new Set(all.map(({ name }) => name).filter((name) => !name.startsWith("@holdfast/")));
  assert.deepEqual(listed.toSorted(), [...used].toSorted());
});

test("versions are exact", () => {
  assert.deepEqual(
    all.filter(({ version }) => !/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version)),
    [],
  );
});

test("the lock file says nothing of where packages come from", () => {
  assert.equal(read("package-lock.json").includes('"resolved": "http'), false);
});

test("only `node` may run an install script", () => {
  const { allowScripts } = JSON.parse(read("package.json")) as { readonly allowScripts: unknown };
  assert.deepEqual(allowScripts, { node: true });
});
