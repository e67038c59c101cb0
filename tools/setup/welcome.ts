import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { hanging } from "@holdfast/cli/lines";
import { controlLauncherMethods, socketPath } from "@holdfast/contract";
import { placesOf, publicAddress, type InstanceSettings, type Places } from "@holdfast/launcher";
import { createRpcClient, systemClock, writeDurably } from "@holdfast/kit";
import { ownerText } from "./owner.ts";
import { type Progress, widthFor } from "./progress.ts";
import { writeProfile } from "./profile.ts";
import { projectPattern } from "./projects.ts";
import { runQuickstart } from "./quickstart.ts";

/**
 * Ends `up`: the first assistant's key into a file of root's alone, the quickstart on an empty data directory, and how to connect. The
 * owner's one-time login goes to a terminal only, never where an assistant could read it later.
 */
export const welcome = async (
  settings: InstanceSettings,
  options: { readonly bare: boolean },
  progress: Progress,
): Promise<void> => {
  const places = placesOf(settings.instance, settings.data);
  const client = createRpcClient({
    path: socketPath(settings.instance, "control", "launcher"),
    methods: controlLauncherMethods,
    clock: systemClock,
  });
  const reachable = await client.call("health", {}).then(
    () => true,
    () => false,
  );
  if (!reachable) return;
  let project: string | undefined;
  const isFirst = (await readKey(places)) === undefined;
  if (isFirst) {
    await progress.step("assistant's key", async () => {
      const made = await client
        .call("assistant.bootstrap", { name: "assistant" })
        .catch((error: unknown) => error);
      if (made instanceof Error) {
        const detail = `${places.assistantKey} is gone; an owner makes another: holdfast keys create`;
        return { outcome: "skipped", detail, value: undefined };
      }
      await writeDurably(places.assistantKey, `${(made as { readonly key: string }).key}\n`);
      return { outcome: "done", detail: places.assistantKey, value: undefined };
    });
    if (!options.bare && (await readKey(places)) !== undefined) {
      project = await progress.step("quickstart", (note) => runQuickstart(settings, places, note));
    }
  }
  const key = await readKey(places);
  const profile = key === undefined ? undefined : await writeProfile(settings, key);
  process.stdout.write(connectionText(settings, profile?.keyFile ?? places.assistantKey, profile?.current));
  const { name } = await client.call("owner.enrolled", {});
  const mint = () => client.call("owner.login_code", {});
  process.stdout.write(
    await ownerText(settings.instance, name, process.stdout.isTTY, mint, systemClock.now()),
  );
  if (project !== undefined) {
    const { instance } = settings;
    process.stdout.write(projectText(project, profile?.current === instance ? "" : ` --context ${instance}`));
  }
};

/** The project that the quickstart leaves, and what its owner may do with it. */
const projectText = (address: string, context: string): string => {
  const slug = new URL(address).hostname.split(".")[0] ?? "";
  const open = `holdfast projects open ${slug}${context}`;
  const publish = `holdfast projects publish ${slug}${context}`;
  return [
    "",
    "The quickstart built a project. Its address is private until you publish it:",
    `  ${address}`,
    `  ${open.padEnd(publish.length)}  in your browser, signed in`,
    `  ${publish}  for everyone, at the same address`,
    "",
  ].join("\n");
};

const readKey = async (places: Places): Promise<string | undefined> =>
  (await readFile(places.assistantKey, "utf8").catch(() => undefined))?.trim();

const connectionText = (
  settings: InstanceSettings,
  keyFile: string,
  currentContext: string | undefined,
): string => {
  const address = publicAddress(settings);
  const configuration = {
    mcpServers: {
      holdfast: { type: "http", url: `${address}/mcp`, headers: { Authorization: "Bearer <the key>" } },
    },
  };
  const block = JSON.stringify(configuration, null, 2).replaceAll("\n", "\n  ");
  const line = (name: string, value: string, about: string): string =>
    hanging(name.padEnd(11), about === "" ? value : `${value}  (${about})`, widthFor(process.stdout));
  return [
    "",
    line("API", address, `reference: ${address}/reference`),
    ...(settings.projects
      ? [line("Projects", projectPattern(settings.projects), "each private until an owner publishes it")]
      : []),
    line("Key", keyFile, "the assistant's, mode 0600"),
    ...contextLine(settings.instance, currentContext).map(([value, about]) => line("Context", value, about)),
    line("Command", `node ${join(settings.source, "bin/holdfast.mjs")}`, "`holdfast` from here on"),
    line(
      "Connect",
      "holdfast mcp config --client claude-code --write",
      "also claude-desktop, cursor, vscode, codex",
    ),
    "",
    "Any other MCP client:",
    `  ${block}`,
    "",
  ].join("\n");
};

/** Which Holdfast the `holdfast` command speaks to from now on: bringing one up does not switch away from another. */
const contextLine = (
  instance: string,
  current: string | undefined,
): readonly (readonly [string, string])[] => {
  if (current === undefined) return [];
  if (current === instance) return [[instance, "in use"]];
  return [[instance, `in use is ${current}; to switch: holdfast contexts use ${instance}`]];
};
