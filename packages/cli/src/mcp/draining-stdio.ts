import { PassThrough, type Readable, type Writable } from "node:stream";
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type MessageExtraInfo,
  type Transport,
} from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { after } from "../lib/time.ts";

/**
 * MCP on two streams that goes on after the input has ended until everything it was asked has been answered. The protocol's own
 * transport drops what is still at work then, and a client that writes its requests and closes (a pipe) gets nothing.
 */
export class DrainingStdio implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #input: Readable;
  /** What the inner transport reads. Never ends, so that it never hangs up by itself. */
  readonly #held = new PassThrough();
  readonly #inner: StdioServerTransport;
  readonly #open = new Set<string | number>();
  #whenDrained: (() => void) | undefined;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#inner = new StdioServerTransport(this.#held, output);
  }

  async start(): Promise<void> {
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message: JSONRPCMessage) => {
      if (isJSONRPCRequest(message)) this.#opened(message);
      else if (isJSONRPCNotification(message)) this.#takenBack(message);
      this.onmessage?.(message);
    };
    await this.#inner.start();
    this.#input.pipe(this.#held, { end: false });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#inner.send(message);
    if ("id" in message && message.id !== undefined && !("method" in message)) this.#closed(message.id);
  }

  async close(): Promise<void> {
    this.#input.unpipe(this.#held);
    await this.#inner.close();
    this.#whenDrained?.();
  }

  /** Call when the input has ended: resolves when every request has its answer or was taken back, at the latest after `boundMs`. */
  async drained(boundMs: number): Promise<void> {
    // Each turn hands on a piece of what has arrived.
    while (this.#held.readableLength > 0) await new Promise((resolve) => setImmediate(resolve));
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const onTime = after(boundMs, resolve);
      this.#whenDrained = () => {
        onTime();
        resolve();
      };
    });
  }

  #opened({ id, method }: JSONRPCRequest): void {
    // A subscription stays open as long as the connection: nothing to wait for.
    if (method !== "subscriptions/listen") this.#open.add(id);
  }

  #takenBack({ method, params }: JSONRPCNotification): void {
    const { requestId } = (params ?? {}) as { readonly requestId?: string | number };
    if (method === "notifications/cancelled" && requestId !== undefined) this.#closed(requestId);
  }

  #closed(id: string | number): void {
    this.#open.delete(id);
    if (this.#open.size === 0) this.#whenDrained?.();
  }
}
