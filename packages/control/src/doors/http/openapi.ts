import {
  type ErrorCode,
  errorTable,
  everywhere,
  type Operation,
  operationNames,
  operations,
} from "@holdfast/contract";
import { z } from "zod";

type Json = Readonly<Record<string, unknown>>;

/** Codes that follow from how an operation is declared, beside those it names itself. */
export const errorsOf = (operation: Operation): readonly ErrorCode[] => [
  ...new Set<ErrorCode>([
    ...operation.errors,
    ...(operation.scope === "owner" ? (["not_found"] as const) : []),
    ...(operation.confirm ? (["confirmation_required"] as const) : []),
    ...(operation.idempotent ? (["operation_running", "idempotency_mismatch"] as const) : []),
    "too_large",
    ...everywhere,
  ]),
];

/** The OpenAPI 3.1 description of every operation, made from its declaration. */
export const openApiDocument = (about: { readonly version: string; readonly address: string }): Json => {
  const paths: Record<string, Record<string, Json>> = {};
  for (const name of operationNames) {
    const operation: Operation = operations[name];
    const { method, path } = operation.route;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: "3.1.0",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "Holdfast",
      version: about.version,
      summary: "A durable computer for every assistant",
      description:
        "Errors are problem details (RFC 9457) with a `code` of /reference and a `remedy`. Lists are paged by opaque cursors. Requests are limited for each principal: see the RateLimit headers.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: about.address }],
    tags: [...new Set(operationNames.map((name) => operations[name].command.noun))].map((noun) => ({
      name: noun,
    })),
    paths,
    components: {
      securitySchemes: {
        key: {
          type: "http",
          scheme: "bearer",
          description: "An assistant's key (hf_…) or an owner's session (hfs_…)",
        },
      },
      schemas: { Problem: problemSchema },
      responses: Object.fromEntries(
        Object.entries(errorTable).map(([code, definition]) => [
          code,
          {
            description: `${definition.title}. ${definition.remedy}`,
            content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
          },
        ]),
      ),
    },
  };
};

const describeOperation = (operation: Operation): Json => {
  const input = schemaOf(operation.input, "input");
  const properties = (input["properties"] ?? {}) as Record<string, Json>;
  const required = new Set(Array.isArray(input["required"]) ? (input["required"] as string[]) : []);
  const inPath = new Set([...operation.route.path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1] ?? ""));
  const inBody = operation.body === "json" && !["GET", "DELETE"].includes(operation.route.method);
  const rest = Object.entries(properties).filter(([name]) => !inPath.has(name));
  const parameters: Json[] = [
    ...[...inPath].map((name) => ({
      name,
      in: "path",
      required: true,
      schema: properties[name] ?? {},
    })),
    ...(inBody
      ? []
      : rest.map(([name, schema]) => ({ name, in: "query", required: required.has(name), schema }))),
    ...headerParameters(operation),
  ];
  return {
    operationId: operation.name,
    tags: [operation.command.noun],
    summary: operation.summary,
    description: operation.description,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(inBody && rest.length > 0 ? { requestBody: jsonBody(input, inPath, required) } : {}),
    ...(operation.body === "bytes"
      ? { requestBody: { required: true, content: { "application/octet-stream": {} } } }
      : {}),
    responses: { ...success(operation), ...failures(operation) },
    security: operation.scope === "public" ? [] : [{ key: [] }],
    "x-holdfast": {
      consequence: operation.consequence,
      scope: operation.scope,
      confirm: operation.confirm,
      idempotent: operation.idempotent,
      destructive: operation.destructive,
      errors: errorsOf(operation),
    },
  };
};

const headerParameters = (operation: Operation): readonly Json[] => [
  ...(operation.idempotent
    ? [
        {
          name: "Idempotency-Key",
          in: "header",
          description:
            "The same key with the same body answers the first result again, for 24 hours (Idempotency-Expires says until when)",
          schema: { type: "string", maxLength: 200 },
        },
      ]
    : []),
  ...(Object.hasOwn(operation.input.shape, "if_match")
    ? [{ name: "If-Match", in: "header", description: "The ETag you read", schema: { type: "string" } }]
    : []),
  ...(operation.reply === "events"
    ? [
        {
          name: "Last-Event-ID",
          in: "header",
          description: "Resumes after this event",
          schema: { type: "string" },
        },
      ]
    : []),
];

const jsonBody = (input: Json, inPath: ReadonlySet<string>, required: ReadonlySet<string>): Json => {
  const properties = (input["properties"] ?? {}) as Record<string, Json>;
  const needed = [...required].filter((name) => !inPath.has(name));
  return {
    required: needed.length > 0,
    content: {
      "application/json": {
        schema: {
          type: "object",
          properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !inPath.has(name))),
          ...(needed.length > 0 ? { required: needed } : {}),
          additionalProperties: false,
        },
      },
    },
  };
};

const success = (operation: Operation): Json => {
  switch (operation.reply) {
    case "json": {
      const status = operation.name.endsWith(".create") ? "201" : "200";
      return {
        [status]: {
          description: operation.title,
          ...(operation.versioned ? { headers: { ETag: { schema: { type: "string" } } } } : {}),
          content: { "application/json": { schema: schemaOf(operation.output, "output") } },
        },
      };
    }
    case "bytes":
      return { "200": { description: operation.title, content: { "application/octet-stream": {} } } };
    case "events":
      return { "200": { description: operation.title, content: { "text/event-stream": {} } } };
    case "terminal":
      return { "101": { description: "A WebSocket" } };
  }
};

/** One response for each status; several codes of one status are told apart by `code`. */
const failures = (operation: Operation): Json => {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(operation)) {
    const { status } = errorTable[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]): readonly [string, Json] => {
      const [only] = codes;
      if (codes.length === 1 && only) return [String(status), { $ref: `#/components/responses/${only}` }];
      return [
        String(status),
        {
          description: codes.map((code) => `\`${code}\`: ${errorTable[code].title}`).join("; "),
          content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
        },
      ];
    }),
  );
};

const schemaOf = (schema: z.ZodType, io: "input" | "output"): Json => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: "draft-2020-12",
    unrepresentable: "any",
    // A name of zod's own; the pattern beside it says the same.
    override: ({ jsonSchema }) => {
      if (jsonSchema.format === "starts_with") delete jsonSchema.format;
    },
  });
  return rest;
};

const problemSchema: Json = {
  type: "object",
  required: ["type", "title", "status", "detail", "code", "retryable", "remedy", "details"],
  properties: {
    type: { type: "string", format: "uri-reference" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string", description: "What happened" },
    instance: { type: "string", description: "The operation's id" },
    code: { type: "string", enum: Object.keys(errorTable) },
    retryable: { type: "boolean" },
    remedy: { type: "string", description: "What to do next" },
    details: { type: "object" },
  },
};
