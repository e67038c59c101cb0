import { createReadStream } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { limits, type OperationOutput, projectService } from "@holdfast/contract";
import type { App } from "../app.ts";
import { CliError, exitCodes } from "../errors.ts";
import { formatBytes } from "../lib/units.ts";

type Definition = OperationOutput<"project.get">["definition"];

/**
 * What a project runs, as a file: `holdfast.json`, the form in which a definition leaves and comes back. What a service would have anyway
 * is left out.
 */
export const definitionText = ({ web, services }: Definition): string => {
  const told = services.map((service) => {
    const anyway: Readonly<Record<string, unknown>> = projectService.parse({ name: service.name });
    return Object.fromEntries(
      Object.entries(service).filter(
        ([key, value]) => key === "name" || !isDeepStrictEqual(value, anyway[key]),
      ),
    );
  });
  return `${JSON.stringify({ web, services: told }, null, 2)}\n`;
};

/** The definition in a file; `-` is standard input. The server judges what is in it. */
export const readDefinition = async (app: App, path: string): Promise<Record<string, unknown>> => {
  const source = path === "-" ? app.console.stdin : createReadStream(path);
  const text = await textOf(source as AsyncIterable<Uint8Array>, path);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
  throw unusable(path, "It is no JSON object.");
};

const textOf = async (source: AsyncIterable<Uint8Array>, path: string): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of source) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > limits.jsonBodyBytes) break;
    }
  } catch (error) {
    throw new CliError(
      `${path} cannot be read`,
      error instanceof Error ? error.message : String(error),
      "Check the path of --definition.",
      exitCodes.usage,
    );
  }
  if (bytes > limits.jsonBodyBytes)
    throw unusable(path, `It is larger than ${formatBytes(limits.jsonBodyBytes)}.`);
  return Buffer.concat(chunks).toString("utf8");
};

const unusable = (path: string, cause: string): CliError =>
  new CliError(
    `${path === "-" ? "Standard input" : path} holds no definition`,
    cause,
    "See the form: holdfast projects show <project> --definition",
    exitCodes.usage,
  );
