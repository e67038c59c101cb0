import { limits, type OperationName } from "@holdfast/contract";

/** What a reply to a model may hold at most, where the operation itself allows more. A larger request is cut down, not refused. */
export interface Cap {
  readonly maximum: number;
  readonly default?: number;
}

const text: Cap = { maximum: limits.replyTextBytes };
/** About 25,000 characters of JSON, so that a page stays near 8,000 tokens. */
const page: Cap = { maximum: 100 };

export const inputCaps: { readonly [N in OperationName]?: Readonly<Record<string, Cap>> } = {
  "process.exec": { max_output_bytes: text },
  "process.output": { max_bytes: text },
  "service.logs": { max_bytes: text },
  "file.read": { max_bytes: text },
  "file.list": { limit: { maximum: 200, default: 100 } },
  "computer.list": { limit: page },
  "process.list": { limit: page },
  "service.list": { limit: page },
  // Each comes with its services and what to do next.
  "project.list": { limit: { maximum: 20, default: 10 } },
  "project.history": { limit: page },
  "project.access": { limit: page },
  "record.list": { limit: page },
};

/** Applies the caps. Values of the wrong type pass as they are: dispatch refuses them with a proper message. */
export const capInput = (
  operation: OperationName,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const capped: Record<string, unknown> = { ...input };
  for (const [field, cap] of Object.entries(inputCaps[operation] ?? {})) {
    // Four bytes of base64 for three of content.
    const maximum = input["encoding"] === "base64" ? Math.floor((cap.maximum * 3) / 4) : cap.maximum;
    const value = input[field] ?? cap.default ?? (input["encoding"] === "base64" ? maximum : undefined);
    if (value !== undefined) capped[field] = typeof value === "number" ? Math.min(value, maximum) : value;
  }
  return capped;
};
