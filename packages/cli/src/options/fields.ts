import type { Operation } from "@holdfast/contract";
import { z } from "zod";

/** One input field as the command line sees it. */
export interface Field {
  /** Path into the input: `["user", "uid"]` for `--user-uid`. */
  readonly path: readonly string[];
  /** Without dashes. */
  readonly flag: string;
  readonly kind: "text" | "integer" | "duration" | "size" | "boolean" | "list" | "record" | "json";
  readonly choices: readonly string[] | undefined;
  readonly description: string;
  readonly required: boolean;
  readonly preset: unknown;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly description?: string;
  readonly default?: unknown;
}

/** The fields of an operation's input that are not positional arguments, flattened: one flag for each. */
export const fieldsOf = (operation: Operation, omit: readonly string[]): readonly Field[] => {
  const schema = z.toJSONSchema(operation.input, { io: "input" }) as Schema;
  const skip = new Set([...operation.command.arguments, ...omit]);
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => !skip.has(name))
    .flatMap(([name, field]) => flatten([name], field, schema.required?.includes(name) ?? false));
};

const flatten = (path: readonly string[], given: Schema, required: boolean): readonly Field[] => {
  const schema = nullable(given);
  if (schema.properties) {
    return Object.entries(schema.properties).flatMap(([name, inner]) =>
      flatten(
        [...path, name],
        { ...inner, description: inner.description ?? given.description ?? "" },
        false,
      ),
    );
  }
  const name = path.join("_");
  const kind = kindOf(name, schema);
  return [
    {
      path,
      flag: flagOf(path, kind),
      kind,
      choices: schema.enum,
      description: given.description ?? "",
      required,
      preset: given.default,
    },
  ];
};

/** `x | null` reads as `x`: leaving a flag out is how to say nothing. */
const nullable = (schema: Schema): Schema => {
  const others = schema.anyOf?.filter((option) => option.type !== "null");
  const [first] = others ?? [];
  if (first === undefined) return schema;
  if (others?.length === 1 || first.type === "boolean") return { ...first, ...pick(schema) };
  return schema;
};

const pick = (schema: Schema): Partial<Schema> => ({
  ...(schema.description === undefined ? {} : { description: schema.description }),
  ...(schema.default === undefined ? {} : { default: schema.default }),
});

const kindOf = (name: string, schema: Schema): Field["kind"] => {
  if (schema.type === "boolean") return "boolean";
  if (schema.type === "integer" || schema.type === "number") {
    if (name.endsWith("_ms")) return "duration";
    return name.endsWith("_bytes") ? "size" : "integer";
  }
  if (schema.type === "string") return "text";
  if (schema.type === "array") return schema.items?.type === "string" ? "list" : "json";
  return schema.type === "object" && typeof schema.additionalProperties === "object" ? "record" : "json";
};

const flagOf = (path: readonly string[], kind: Field["kind"]): string => {
  const words = (path[0] === "ceilings" ? path.slice(1) : path).join("_");
  const short =
    kind === "duration" ? words.replace(/_ms$/, "") : kind === "size" ? words.replace(/_bytes$/, "") : words;
  return short.replaceAll("_", "-");
};
