import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import { after, test } from "node:test";
import { tracked } from "./sources.ts";
import { Sources } from "./uses.ts";

/** Which of our packages each package may import. Mirrors ARCHITECTURE.md, "Where things are". */
const packages: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  kit: ["contract"],
  launcher: ["contract", "kit"],
  supervisor: ["contract", "kit"],
  control: ["contract", "kit"],
  gateway: ["contract", "kit"],
  sdk: ["contract"],
  cli: ["contract", "sdk"],
};

/** What packages that run as root, hold the last word or face strangers may depend on besides our own: nothing but this. */
const outside: Readonly<Record<string, readonly string[]>> = {
  contract: ["zod"],
  kit: ["zod"],
  launcher: ["zod"],
  supervisor: ["zod"],
  gateway: ["zod"],
};

/** Inside control, imports go from left to right only; modules in one step do not import each other. */
const steps: readonly (readonly string[])[] = [
  ["main"],
  ["serve"],
  ["app", "modules", "housekeeping"],
  ["doors"],
  ["dispatch"],
  ["operations"],
  // Snapshots carry projects along.
  ["snapshots"],
  // Projects and schedules are made of what computers and their work offer.
  ["projects", "visits", "throwaway", "schedules"],
  ["authority", "agents", "computers", "warm", "memory", "work", "events", "evidence"],
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

const compiled = new Sources();
after(() => compiled.close());

const sources = tracked(".ts").filter((file) => file.startsWith("packages/") && !file.endsWith(".test.ts"));
const canary = compiled.imports("tools/check/canary/seeded-imports.ts");

/** What of these imports the table of packages refuses to a file. */
const refusedToPackage = (file: string, specifiers: readonly string[]): readonly string[] => {
  const name = file.split("/")[1] ?? "";
  const allowed = packages[name];
  if (!allowed) return [`packages/${name} is not in the table of this test`];
  return specifiers.flatMap((specifier) => {
    if (specifier.startsWith(".")) {
      const target = normalize(join(dirname(file), specifier));
      return target.startsWith(`packages/${name}/`)
        ? []
        : [`${file} reaches out of its package to ${target}`];
    }
    const own = /^@holdfast\/([a-z]+)/.exec(specifier)?.[1];
    const third = own === undefined && !specifier.startsWith("node:") ? specifier.split("/")[0] : undefined;
    const refused =
      (own !== undefined && own !== name && !allowed.includes(own)) ||
      (third !== undefined && outside[name] !== undefined && !outside[name].includes(third));
    return refused ? [`${file} imports ${specifier}`] : [];
  });
};

/** What of these imports goes against the order inside control. */
const refusedInControl = (file: string, specifiers: readonly string[]): readonly string[] => {
  const nameOf = (path: string): string => (path.split("/")[3] ?? "").replace(/\.ts$/, "");
  const inside = (path: string): string => path.slice("packages/control/src/".length);
  const stepOf = (path: string): number => steps.findIndex((names) => names.includes(nameOf(path)));
  const from = stepOf(file);
  if (from === -1) return [`${file} stands in no step of this test's table`];
  return specifiers
    .filter((text) => text.startsWith("."))
    .map((specifier) => normalize(join(dirname(file), specifier)))
    .filter(
      (target) =>
        nameOf(target) !== nameOf(file) &&
        stepOf(target) <= from &&
        !excepted.some((edge) => edge.from.test(inside(file)) && edge.to.test(inside(target))),
    )
    .map((target) => `${file} imports ${target}`);
};

test("imports of every kind are seen", () => {
  assert.deepEqual(canary, [
    "@holdfast/control",
    "@holdfast/kit",
    "kysely",
    "@holdfast/launcher",
    "@holdfast/supervisor",
    "pg",
    "../doors/http/server.ts",
    "../../../cli/src/main.ts",
  ]);
});

test("packages import only what the table allows", () => {
  // What the canary imports is refused to a program that may do little, each by its reason.
  assert.deepEqual(refusedToPackage("packages/supervisor/src/cells/canary.ts", canary), [
    "packages/supervisor/src/cells/canary.ts imports @holdfast/control",
    "packages/supervisor/src/cells/canary.ts imports kysely",
    "packages/supervisor/src/cells/canary.ts imports @holdfast/launcher",
    "packages/supervisor/src/cells/canary.ts imports pg",
    "packages/supervisor/src/cells/canary.ts reaches out of its package to packages/cli/src/main.ts",
  ]);
  assert.equal(refusedToPackage("packages/unknown/src/main.ts", []).length, 1);
  assert.deepEqual(
    sources.flatMap((file) => refusedToPackage(file, compiled.imports(file))),
    [],
  );
});

test("inside control, imports go one way", () => {
  assert.deepEqual(refusedInControl("packages/control/src/domain/canary.ts", canary), [
    "packages/control/src/domain/canary.ts imports packages/control/src/doors/http/server.ts",
    "packages/control/src/domain/canary.ts imports packages/cli/src/main.ts",
  ]);
  assert.equal(refusedInControl("packages/control/src/elsewhere/canary.ts", []).length, 1);
  const inControl = sources.filter(
    (file) => file.startsWith("packages/control/src/") && file !== "packages/control/src/index.ts",
  );
  assert.deepEqual(
    inControl.flatMap((file) => refusedInControl(file, compiled.imports(file))),
    [],
  );
});
