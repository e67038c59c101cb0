import type { Tool } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Cap } from "./caps.ts";

type Schema = Readonly<Record<string, unknown>>;
type ToolSchema = Tool["inputSchema"];

/** What a caller sends, with the door's caps in place of the operation's own bounds. */
export const inputSchemaOf = (schema: z.ZodObject, caps: Readonly<Record<string, Cap>>): ToolSchema => {
  const plain = tidy(z.toJSONSchema(schema, { io: "input" }), "input") as ToolSchema;
  const properties = { ...(plain.properties as Record<string, Schema> | undefined) };
  for (const [field, cap] of Object.entries(caps)) {
    const given = properties[field] ?? {};
    const preset = cap.default ?? given["default"];
    properties[field] = {
      ...given,
      maximum: cap.maximum,
      ...(typeof preset === "number" ? { default: Math.min(preset, cap.maximum) } : {}),
    };
  }
  return { ...plain, properties } as ToolSchema;
};

/**
 * What comes back. Open everywhere: a client that has cached the schema must accept fields that a newer server adds. What is in `brief` is
 * named and not spelled out: it is the answer of a tool of its own.
 */
export const outputSchemaOf = (
  schema: z.ZodObject,
  brief: ReadonlyMap<unknown, string> = new Map(),
): ToolSchema =>
  tidy(
    z.toJSONSchema(schema, {
      io: "output",
      override: ({ zodSchema, jsonSchema }) => {
        const words = brief.get(zodSchema);
        if (words === undefined) return;
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema];
        Object.assign(jsonSchema, { type: "object", description: words });
      },
    }),
    "output",
  ) as ToolSchema;

/**
 * Drops what costs a model tokens and tells it nothing: the dialect, formats no validator knows, bounds of safe integers, patterns of
 * ids in replies, and the text form of booleans that only query strings need.
 */
const tidy = (node: unknown, side: "input" | "output"): unknown => {
  if (Array.isArray(node)) return node.map((item) => tidy(item, side));
  if (typeof node !== "object" || node === null) return node;
  const schema = node as Schema;
  if (isFlag(schema)) return { type: "boolean", ...pick(schema, "description", "default") };
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => keeps(key, value, side))
      .map(([key, value]) => [
        key,
        key === "properties" ? mapValues(value as Schema, (item) => tidy(item, side)) : tidy(value, side),
      ]),
  );
};

const keeps = (key: string, value: unknown, side: "input" | "output"): boolean => {
  if (key === "$schema" || key === "format" || key === "contentEncoding") return false;
  if (key === "maximum" && value === Number.MAX_SAFE_INTEGER) return false;
  if (key === "minimum" && value === Number.MIN_SAFE_INTEGER) return false;
  if (key === "pattern") return side === "input" && String(value).length < 80;
  if (key === "additionalProperties") return typeof value === "object" && Object.keys(value ?? {}).length > 0;
  if (key === "propertyNames") return side === "input";
  return true;
};

const isFlag = (schema: Schema): boolean => {
  const any = schema["anyOf"];
  return (
    Array.isArray(any) &&
    any.length === 2 &&
    JSON.stringify(any) === '[{"type":"boolean"},{"type":"string","enum":["true","false"]}]'
  );
};

const pick = (schema: Schema, ...keys: readonly string[]): Schema =>
  Object.fromEntries(keys.filter((key) => key in schema).map((key) => [key, schema[key]]));

const mapValues = (record: Schema, map: (value: unknown) => unknown): Schema =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
