import { createHash } from "node:crypto";
import { test } from "node:test";
import {
  type ErrorDefinition,
  errorCodes,
  errorTable,
  type Operation,
  operationNames,
  operations,
} from "@holdfast/contract";
import { errorsOf, openApiDocument } from "../../../packages/control/src/doors/http/openapi.ts";
import { assertPinned } from "./pin.ts";

test("every operation's name, route, rules and errors are what is pinned", () => {
  const lines = operationNames.map((name) => {
    const operation: Operation = operations[name];
    return [
      `${name}: ${operation.route.method} ${operation.route.path}`,
      `  ${operation.body} → ${operation.reply}, ${operation.consequence}, ${operation.scope}, costs ${operation.cost}`,
      `  ${["idempotent", "confirm", "versioned", "repeatable", "destructive"].filter((flag) => operation[flag as "confirm"]).join(" ") || "-"}`,
      `  tool ${operation.tool ?? "-"}, holdfast ${operation.command.noun} ${operation.command.verb} ${operation.command.arguments.join(" ")}`,
      `  input ${Object.keys(operation.input.shape).join(" ")}`,
      `  output ${Object.keys(operation.output.shape).join(" ")}`,
      `  errors ${[...errorsOf(operation)].sort((a, b) => (a < b ? -1 : 1)).join(" ")}`,
    ]
      .map((line) => line.trimEnd())
      .join("\n");
  });
  assertPinned("operations.txt", `${lines.join("\n\n")}\n`);
});

test("every error code, its status, fault and retry are what is pinned", () => {
  const lines = errorCodes.map((code) => {
    const one: ErrorDefinition = errorTable[code];
    return `${code} ${one.status} ${one.fault} ${one.retryable ? "retryable" : "final"}`;
  });
  assertPinned("errors.txt", `${lines.join("\n")}\n`);
});

test("the OpenAPI description of every operation is what is pinned", () => {
  const document = openApiDocument({ version: "pinned", address: "http://127.0.0.1:7300" });
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const { paths: _, ...rest } = document;
  const lines = [
    `(all else) ${digest(rest)}`,
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => `${method} ${path} ${digest(described)}`),
    ),
  ];
  assertPinned("openapi-digests.txt", `${lines.join("\n")}\n`);
});

const digest = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
