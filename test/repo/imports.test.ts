import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { importsOf, tracked } from "./sources.ts";

/** Which of our packages each package may import. Mirrors ARCHITECTURE.md, "Where things are". */
const packages: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  kit: ["contract"],
  launcher: ["contract", "kit"],
  supervisor: ["contract", "kit"],
  control: ["contract", "kit"],
  sdk: ["contract"],
  cli: ["contract", "sdk"],
};

/** What packages that run as root or hold the last word may depend on besides our own: nothing but this. */
const outside: Readonly<Record<string, readonly string[]>> = {
  contract: ["zod"],
  kit: ["zod"],
  launcher: ["zod"],
  supervisor: ["zod"],
};

/** Inside control, imports go from left to right only; modules in one step do not import each other. */
const steps: readonly (readonly string[])[] = [
  ["main"],
  ["serve"],
  ["app", "modules", "housekeeping"],
  ["doors"],
  ["dispatch"],
  ["operations"],
  ["authority", "agents", "computers", "work", "events", "evidence"],
  ["store"],
  ["domain"],
  ["lib"],
];

/** Edges against the order, each with its reason. */
const excepted: readonly { readonly from: RegExp; readonly to: RegExp }[] = [
  // Handlers and ports take the caller's transaction; its type is Kysely's and belongs to the store.
  { from: /^domain\//, to: /^store\/(transaction|records)\.ts$/ },
  // The three wiring files are one job, split to stay readable.
  { from: /^(app|modules|housekeeping)/, to: /^(app|modules|housekeeping)/ },
];

const sources = tracked(".ts").filter((file) => file.startsWith("packages/") && !file.endsWith(".test.ts"));

test("packages import only what the table allows", () => {
  const wrong: string[] = [];
  for (const file of sources) {
    const name = file.split("/")[1] ?? "";
    const allowed = packages[name];
    assert.ok(allowed, `packages/${name} is not in the table of this test`);
    for (const specifier of importsOf(file)) {
      const own = /^@holdfast\/([a-z]+)/.exec(specifier)?.[1];
      if (own !== undefined && own !== name && !allowed.includes(own))
        wrong.push(`${file} imports ${specifier}`);
      const third = own === undefined && !/^(\.|node:)/.test(specifier) ? specifier.split("/")[0] : undefined;
      if (third !== undefined && outside[name] && !outside[name].includes(third))
        wrong.push(`${file} imports ${specifier}`);
      if (specifier.startsWith(".")) {
        const target = normalize(join(dirname(file), specifier));
        if (!target.startsWith(`packages/${name}/`))
          wrong.push(`${file} reaches out of its package to ${target}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test("inside control, imports go one way", () => {
  const wrong: string[] = [];
  const nameOf = (path: string): string => (path.split("/")[3] ?? "").replace(/\.ts$/, "");
  const inside = (path: string): string => path.slice("packages/control/src/".length);
  const stepOf = (path: string): number => steps.findIndex((names) => names.includes(nameOf(path)));
  for (const file of sources.filter((path) => path.startsWith("packages/control/src/"))) {
    if (file === "packages/control/src/index.ts") continue;
    const from = stepOf(file);
    if (from === -1) {
      wrong.push(`${file} stands in no step of this test's table`);
      continue;
    }
    for (const specifier of importsOf(file).filter((text) => text.startsWith("."))) {
      const target = normalize(join(dirname(file), specifier));
      if (nameOf(target) === nameOf(file) || stepOf(target) > from) continue;
      if (excepted.some((edge) => edge.from.test(inside(file)) && edge.to.test(inside(target)))) continue;
      wrong.push(`${file} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});
