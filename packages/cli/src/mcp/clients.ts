import { homedir, platform } from "node:os";
import { join } from "node:path";
import type { Environment } from "../config/paths.ts";
import type { Block } from "./install.ts";
import { tomlTable } from "./toml.ts";

export const clientNames = ["claude-code", "claude-desktop", "cursor", "vscode", "codex"] as const;
export type ClientName = (typeof clientNames)[number];

export type Connection =
  | { readonly kind: "http"; readonly url: string; readonly key: string }
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
    };

export interface McpClient {
  readonly title: string;
  /** Whether its file takes an address with a header. */
  readonly http: boolean;
  readonly place: (environment: Environment) => string;
  readonly block: (name: string, connection: Connection) => Block;
  readonly next: string;
}

/** How each client wants to be told, as its own documentation says. */
export const clients: Readonly<Record<ClientName, McpClient>> = {
  "claude-code": {
    title: "Claude Code",
    http: true,
    place: () => ".mcp.json",
    block: (name, connection) =>
      jsonBlock(
        ["mcpServers", name],
        connection.kind === "http"
          ? { type: "http", ...remote(connection) }
          : { type: "stdio", ...local(connection) },
        holdsKey(connection),
      ),
    next: "Start `claude` in this directory and approve the server; /mcp shows it.",
  },
  "claude-desktop": {
    title: "Claude Desktop",
    // Its connectors come from a cloud that cannot reach this machine, and its file takes programs only.
    http: false,
    place: (environment) =>
      platform() === "darwin"
        ? join(homedir(), "Library/Application Support/Claude/claude_desktop_config.json")
        : join(configHome(environment), "Claude/claude_desktop_config.json"),
    block: (name, connection) => jsonBlock(["mcpServers", name], local(connection), false),
    next: "Restart Claude Desktop.",
  },
  cursor: {
    title: "Cursor",
    http: true,
    place: () => join(homedir(), ".cursor/mcp.json"),
    block: (name, connection) =>
      jsonBlock(
        ["mcpServers", name],
        connection.kind === "http" ? remote(connection) : local(connection),
        holdsKey(connection),
      ),
    next: "Open Cursor's settings, MCP: it is listed there.",
  },
  vscode: {
    title: "VS Code",
    http: true,
    place: () => ".vscode/mcp.json",
    block: (name, connection) => vscodeBlock(name, connection),
    next: "Open .vscode/mcp.json in VS Code and press Start; it asks for the key once and keeps it.",
  },
  codex: {
    title: "Codex",
    http: true,
    place: (environment) => join(environment["CODEX_HOME"] ?? join(homedir(), ".codex"), "config.toml"),
    block: (name, connection) => ({
      format: "toml",
      table: ["mcp_servers", name],
      text: tomlTable(
        ["mcp_servers", name],
        connection.kind === "http"
          ? { url: connection.url, http_headers: { Authorization: `Bearer ${connection.key}` } }
          : { command: connection.command, args: connection.args, ...environmentOf(connection) },
      ),
      holdsKey: holdsKey(connection),
    }),
    next: "Start `codex`; /mcp shows it.",
  },
};

/** VS Code asks for the key itself and keeps it in its own store: the file in the project holds none. */
const vscodeBlock = (name: string, connection: Connection): Block => {
  if (connection.kind === "stdio")
    return jsonBlock(["servers", name], { type: "stdio", ...local(connection) }, false);
  const input = {
    type: "promptString",
    id: `${name}-key`,
    password: true,
    description: "Holdfast key (hf_…)",
  };
  const server = {
    type: "http",
    url: connection.url,
    headers: { Authorization: `Bearer \${input:${name}-key}` },
  };
  return {
    format: "json",
    entries: [
      { path: ["inputs"], append: input, sameBy: "id" },
      { path: ["servers", name], value: server },
    ],
    text: `${JSON.stringify({ inputs: [input], servers: { [name]: server } }, null, 2)}\n`,
    holdsKey: false,
  };
};

const jsonBlock = (path: readonly [string, string], value: unknown, withKey: boolean): Block => ({
  format: "json",
  entries: [{ path, value }],
  text: `${JSON.stringify({ [path[0]]: { [path[1]]: value } }, null, 2)}\n`,
  holdsKey: withKey,
});

const remote = (connection: Connection & { kind: "http" }) => ({
  url: connection.url,
  headers: { Authorization: `Bearer ${connection.key}` },
});

const local = (connection: Connection) => {
  if (connection.kind === "http") throw new Error("This client takes programs only.");
  return { command: connection.command, args: connection.args, ...environmentOf(connection) };
};

const environmentOf = (connection: Connection & { kind: "stdio" }) =>
  Object.keys(connection.environment).length === 0 ? {} : { env: connection.environment };

const holdsKey = (connection: Connection): boolean => connection.kind === "http";
const configHome = (environment: Environment): string =>
  environment["XDG_CONFIG_HOME"] ?? join(homedir(), ".config");
