import assert from "node:assert/strict";
import type { OperationOutput } from "@holdfast/contract";
import { run } from "./computer.ts";
import type { Assistant } from "./instance.ts";

type Project = OperationOutput<"project.get">;

/** A server that answers `text`, in one file. */
export const serverOf = (text: string): string =>
  `require("http").createServer((q, s) => s.end(${JSON.stringify(text)})).listen(process.env.PORT, "127.0.0.1")\n`;
/** What runs it. */
export const serverDefinition = { web: "web", services: [{ name: "web", argv: ["node", "server.js"] }] };

/** A project on the computer with a small server of its own, which answers `one`. */
export const servedProject = async (
  { client }: Assistant,
  computer: string,
  name: string,
): Promise<Project> => {
  const made = await client.projects.create({ computer, name });
  await client.projects.update({ project: made.id, definition: serverDefinition, if_match: made.version });
  await client.files.write({ computer, path: `${made.folder}/server.js`, content: serverOf("one") });
  const { project } = await client.projects.deploy({ project: made.id, message: "First server" });
  assert.equal(project.state, "running", JSON.stringify(project.services));
  return project;
};

/** What its web service answers, asked from inside. */
export const answerOf = async (assistant: Assistant, { computer, services }: Project): Promise<string> => {
  const port = services.find(({ name }) => name.endsWith("-web"))?.port;
  return (await run(assistant, computer, `curl -sS --fail http://127.0.0.1:${port}/`)).stdout;
};

export const refused = (work: Promise<unknown>, code: string): Promise<void> =>
  assert.rejects(work, { code });
