import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import {
  command,
  plainEnvironment,
  publicAddress,
  type InstanceSettings,
  type Places,
} from "@holdfast/launcher";
import type { StepResult } from "./progress.ts";

/**
 * Does the main job once through the official MCP client; see `examples/quickstart`. Answers the address of the project that it leaves:
 * what it printed last after `address: `. Throws with what it printed when it fails.
 */
export const runQuickstart = async (
  settings: InstanceSettings,
  places: Places,
  note: (text: string) => void,
): Promise<StepResult<string | undefined>> => {
  const program = join(settings.source, "examples/quickstart/main.ts");
  if (!existsSync(program)) return { outcome: "skipped", detail: "not in this tree", value: undefined };
  const lines: string[] = [];
  await command(
    [process.execPath, program, "--url", `${publicAddress(settings)}/mcp`, "--key-file", places.assistantKey],
    {
      directory: settings.source,
      environment: { ...plainEnvironment, NODE_NO_WARNINGS: "1" },
      onLine: (line) => {
        note(line);
        if (line.trim() !== "") lines.push(line);
      },
    },
  );
  const address = lines.flatMap((line) => /^address: (https?:\/\/\S+)$/.exec(line)?.[1] ?? []).at(-1);
  const told = lines.filter((line) => line !== `address: ${address}`).map((line) => `          ${line}`);
  return {
    outcome: "done",
    detail: `the main job was done once over MCP\n${told.join("\n")}`,
    value: address,
  };
};
