import type { OperationInput } from "@holdfast/contract";
import { wrong } from "../lib/units.ts";

export type PublicRule = NonNullable<OperationInput<"project.publish">["rules"]>[number];

/** `POST /hooks/*`, `GET,HEAD /public/*`, or a path alone for every method. What a path may be is the server's to judge. */
export const parseRule = (text: string): PublicRule => {
  const match = /^(?:([A-Za-z]+(?:,[A-Za-z]+)*)\s+)?(\/\S*)$/.exec(text.trim());
  if (!match) throw wrong("--rule", text, "of the form 'POST /hooks/*', 'GET,HEAD /public/*' or '/assets/*'");
  return { methods: match[1]?.toUpperCase().split(",") ?? null, path: match[2] ?? "/" };
};
