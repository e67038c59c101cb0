import assert from "node:assert/strict";
import { test } from "node:test";
import { errorCodes, errorTable, operationNames, operations } from "@holdfast/contract";
import { errorsOf, openApiDocument } from "../../../packages/control/src/doors/http/openapi.ts";
import { referencePage } from "../../../packages/control/src/doors/http/reference.ts";

type Json = Readonly<Record<string, unknown>>;
const document = openApiDocument({ version: "1.2.3", address: "http://127.0.0.1:7300" });

const walk = function* (node: unknown, at = "#"): Generator<readonly [string, Json]> {
  if (Array.isArray(node)) for (const [index, item] of node.entries()) yield* walk(item, `${at}/${index}`);
  else if (node !== null && typeof node === "object") {
    yield [at, node as Json];
    for (const [key, value] of Object.entries(node)) yield* walk(value, `${at}/${key}`);
  }
};

test("the document is whole JSON: every reference leads somewhere, nothing is undefined", () => {
  assert.equal(document["openapi"], "3.1.0");
  for (const [at, node] of walk(document)) {
    for (const [key, value] of Object.entries(node)) assert.notEqual(value, undefined, `${at}/${key}`);
    const ref = node["$ref"];
    if (typeof ref !== "string") continue;
    const found = ref
      .slice(2)
      .split("/")
      .reduce<unknown>((here, step) => (here as Json | undefined)?.[step], document);
    assert.ok(ref.startsWith("#/") && found !== undefined, `${at} refers to ${ref}`);
  }
});

test("every operation is described once, with its parameters where its path has them", () => {
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, Json>>>>;
  const ids = new Set<unknown>();
  for (const name of operationNames) {
    const { method, path } = operations[name].route;
    const described = paths[path]?.[method.toLowerCase()];
    assert.ok(described, `${method} ${path}`);
    assert.equal(described["operationId"], name);
    assert.ok(!ids.has(name));
    ids.add(name);
    const parameters = (described["parameters"] ?? []) as Json[];
    const inPath = parameters.filter((one) => one["in"] === "path").map((one) => one["name"]);
    assert.deepEqual(
      inPath,
      [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]),
      path,
    );
    assert.ok(parameters.filter((one) => one["in"] === "path").every((one) => one["required"] === true));
    assert.equal(
      new Set(parameters.map((one) => `${String(one["in"])} ${String(one["name"])}`)).size,
      parameters.length,
    );
    const responses = described["responses"] as Json;
    for (const status of Object.keys(responses)) assert.match(status, /^[1-5]\d\d$/);
    for (const code of errorsOf(operations[name]))
      assert.ok(String(errorTable[code].status) in responses, `${name}: ${code}`);
    if (method === "GET" || method === "DELETE") assert.equal(described["requestBody"], undefined);
  }
  const count = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  assert.equal(count, operationNames.length);
});

test("schemas are JSON Schema 2020-12 and describe every field a caller may give", () => {
  for (const [at, node] of walk(document["paths"])) {
    assert.ok(
      !("nullable" in node) || typeof node["nullable"] === "object",
      `${at} uses OpenAPI 3.0's nullable`,
    );
    assert.ok(!("$defs" in node), `${at} has definitions that nothing at the root resolves`);
  }
});

test("the reference page shows every operation and every error, and nothing unescaped", () => {
  const page = referencePage({ version: '<b>"1"</b>' });
  assert.ok(!page.includes("<b>"));
  assert.ok(!/<script/i.test(page));
  for (const name of operationNames) assert.ok(page.includes(`<section id="${name}">`), name);
  for (const code of errorCodes) assert.ok(page.includes(`<tr id="${code}">`), code);
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g))
    assert.ok(page.includes(`id="${target ?? ""}"`), target);
});

test("an operation names no code twice and only those of the table", () => {
  for (const name of operationNames) {
    const codes = operations[name].errors;
    assert.equal(new Set(codes).size, codes.length, name);
    for (const code of codes) assert.ok(errorCodes.includes(code), `${name}: ${code}`);
  }
});
