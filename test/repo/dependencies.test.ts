import assert from "node:assert/strict";
import { test } from "node:test";
import { read, tracked } from "./sources.ts";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

interface Dependency {
  readonly file: string;
  readonly name: string;
  readonly version: string;
}

const manifests = tracked("package.json").map((file) => [file, JSON.parse(read(file)) as Manifest] as const);
const all = manifests.flatMap(([file, { dependencies, devDependencies }]) =>
  Object.entries({ ...dependencies, ...devDependencies }).map(([name, version]) => ({ file, name, version })),
);
/** A dependency that breaks each rule. Every check must report it before it judges the real ones. */
const canary: Dependency = { file: "canary/package.json", name: "unargued", version: "^1.0.0" };

/** Used without a line in the list, and listed without use. */
const unargued = (listed: readonly string[], used: readonly Dependency[]): readonly string[] => {
  const names = new Set(used.map(({ name }) => name).filter((name) => !name.startsWith("@holdfast/")));
  return [
    ...[...names].filter((name) => !listed.includes(name)),
    ...listed.filter((name) => !names.has(name)),
  ];
};
const inexact = (used: readonly Dependency[]): readonly Dependency[] =>
  used.filter(({ version }) => !/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version));
const namesRegistry = (lock: string): boolean => lock.includes('"resolved": "http');

test("every dependency has its line in CONTRIBUTING.md, and the other way round", () => {
  const listed = [...read("CONTRIBUTING.md").matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name ?? "");
  assert.deepEqual(unargued([...listed, "unused"], [...all, canary]), ["unargued", "unused"]);
  assert.deepEqual(unargued(listed, all), []);
});

test("versions are exact", () => {
  assert.deepEqual(inexact([...all, canary]), [canary]);
  assert.deepEqual(inexact(all), []);
});

test("the lock file says nothing of where packages come from", () => {
  assert.equal(namesRegistry('{ "resolved": "https://packages.example/a.tgz" }'), true);
  assert.equal(namesRegistry(read("package-lock.json")), false);
});

test("only `node` may run an install script", () => {
  const { allowScripts } = JSON.parse(read("package.json")) as { readonly allowScripts: unknown };
  assert.deepEqual(allowScripts, { node: true });
});
