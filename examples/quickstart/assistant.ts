import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

/** A host that is emulated or overloaded takes its time; most clients wait a minute. */
const patienceMs = 5 * 60_000;

/** What an assistant does with the official MCP client: list tools, call them, read structured results. */
export class Assistant {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async connect(url: string, key: string): Promise<Assistant> {
    const client = new Client(
      { name: "quickstart", version: "1.0.0" },
      { versionNegotiation: { mode: "auto" } },
    );
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { authorization: `Bearer ${key}` } },
      }),
    );
    return new Assistant(client);
  }

  async tools(): Promise<string[]> {
    const { tools } = await this.#client.listTools();
    return tools.map((tool) => tool.name);
  }

  /** The tool's structured result; throws with the tool's own words when it is an error. */
  async call(name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
    const result = await this.#client.callTool({ name, arguments: input }, { timeout: patienceMs });
    if (result.isError)
      throw new Error(
        `${name}: ${result.content.map((part) => (part.type === "text" ? part.text : part.type)).join("\n")}`,
      );
    const structured = result.structuredContent;
    if (typeof structured !== "object" || structured === null || Array.isArray(structured))
      throw new Error(`${name} answered no structured content`);
    return structured as Record<string, unknown>;
  }

  /** Runs a shell line and waits for its end, however long the first answer took. */
  async exec(computer: string, command: string, more: Record<string, unknown> = {}): Promise<ExecResult> {
    const result = await this.call("exec", { computer, command, ...more });
    const ended = result["process"] as { readonly exit_code: number | null };
    return { stdout: String(result["stdout"]), stderr: String(result["stderr"]), exitCode: ended.exit_code };
  }

  /** Runs one step, says how it went, and passes its result on. */
  async step(title: string, run: () => Promise<string>): Promise<string> {
    const result = await run().catch((cause: unknown) => {
      throw new Error(`${title}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    });
    process.stdout.write(`  ✓ ${title}${result ? ` (${result})` : ""}\n`);
    return result;
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
