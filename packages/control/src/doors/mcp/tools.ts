import {
  computerView,
  holdView,
  limits,
  offerView,
  type Operation,
  type OperationName,
  operations,
  processView,
  projectView,
  runView,
  scheduleView,
  serviceView,
  snapshotView,
} from "@holdfast/contract";
import type { Tool } from "@modelcontextprotocol/server";
import { inputCaps } from "./caps.ts";
import { inputSchemaOf, outputSchemaOf } from "./json-schema.ts";

export interface ToolEntry {
  readonly operation: Operation & { readonly name: OperationName };
  readonly tool: Tool;
}

/** Every operation that is a tool, in the order of the operations table: clients cache prompts that begin with this list. */
export const createTools = (): readonly ToolEntry[] =>
  Object.values(operations)
    .filter((operation) => operation.tool !== null)
    .map((operation) => ({ operation, tool: toolOf(operation) }));

const toolOf = (operation: Operation & { readonly name: OperationName }): Tool => ({
  name: operation.tool ?? "",
  title: operation.title,
  description: operation.description,
  inputSchema: withIdempotencyKey(operation, inputSchemaOf(operation.input, inputCaps[operation.name] ?? {})),
  outputSchema: outputSchemaOf(operation.output, briefsFor(operation.name)),
  annotations: {
    readOnlyHint: operation.consequence === "observe",
    destructiveHint: operation.destructive,
    idempotentHint: operation.repeatable,
    openWorldHint: runsCode.has(operation.name),
  },
});

/** Many tools answer the same thing, or hold it: spelled out once, by the tool that shows it. */
const shown: ReadonlyMap<OperationName, unknown> = new Map<OperationName, unknown>([
  ["computer.get", computerView],
  ["hold.create", holdView],
  ["process.get", processView],
  ["project.get", projectView],
  ["run.get", runView],
  ["schedule.get", scheduleView],
  ["service.get", serviceView],
  ["snapshot.create", snapshotView],
  ["offer.create", offerView],
]);

/** What is named by the tool that shows it, in the schema of this one. */
const briefsFor = (name: OperationName): ReadonlyMap<unknown, string> =>
  new Map<unknown, string>([
    [projectView.shape.definition, "What it should run, as project_update takes it; deploy makes it so"],
    ...[...shown]
      .filter(([by]) => by !== name)
      .map(([by, view]) => [view, `as ${operations[by].tool ?? by} answers`] as const),
  ]);

/** What a command does outside of the computer is not ours to promise. */
const runsCode: ReadonlySet<OperationName> = new Set([
  "process.exec",
  "process.start",
  "process.input",
  "service.create",
  "service.update",
] as const);

const withIdempotencyKey = (operation: Operation, schema: Tool["inputSchema"]): Tool["inputSchema"] =>
  operation.idempotent
    ? {
        ...schema,
        properties: {
          ...schema.properties,
          idempotency_key: {
            type: "string",
            minLength: 1,
            maxLength: limits.idempotencyKeyLength,
            description:
              "Any text of yours that is unique to this act. Sent again it answers the first result",
          },
        },
      }
    : schema;
