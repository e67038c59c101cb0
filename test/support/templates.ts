import { readTemplate } from "../../packages/control/src/lib/templates.ts";
import { run } from "./computer.ts";
import type { Assistant } from "./instance.ts";
import { tarEntry, tarOf } from "./tar.ts";

/** Puts a template into /work/<name> and runs its service, as a project of it would, without a project. Answers the service's id. */
export const startTemplate = async (
  assistant: Assistant,
  computer: string,
  name: string,
  port: number,
): Promise<string> => {
  const { definition, files } = await readTemplate(name);
  const entries = files.map(({ path, content }) => tarEntry({ name: path, content: content.toString() }));
  await run(assistant, computer, `mkdir -p /work/${name}`);
  await assistant.client.archives.import({ computer, path: `/work/${name}` }, tarOf(...entries));
  const [service] = definition.services;
  if (!service) throw new Error(`The template ${name} has no service.`);
  const { cwd: _cwd, name: _name, argv, readiness } = service;
  const { id } = await assistant.client.services.create({
    computer,
    name,
    ...(argv ? { argv } : {}),
    ...(readiness ? { readiness } : {}),
    cwd: `/work/${name}`,
    port,
    environment: { PORT: String(port) },
  });
  return id;
};

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Asks a server inside the computer as any program there would; `options` are curl's. */
export const askInside = async (
  { client }: Assistant,
  computer: string,
  port: number,
  path: string,
  ...options: readonly string[]
): Promise<Answer> => {
  const argv = ["curl", "-si", "--max-time", "20", "--path-as-is", "-H", "Expect:", ...options];
  const { stdout, stderr, process } = await client.processes.exec({
    computer,
    argv: [...argv, `http://127.0.0.1:${port}${path}`],
    wait_ms: 30_000,
  });
  if (process.exit_code !== 0) throw new Error(`curl ended with ${process.exit_code}: ${stderr}`);
  const end = stdout.indexOf("\r\n\r\n");
  const [first = "", ...lines] = stdout.slice(0, end).split("\r\n");
  return {
    status: Number(first.split(" ")[1]),
    headers: Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    ),
    body: stdout.slice(end + 4),
  };
};
