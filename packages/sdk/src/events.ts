import type { Operation, OperationOutput } from "@holdfast/contract";
import type { Connection } from "./connection.ts";
import { HoldfastConnectionError } from "./errors.ts";
import type { CallOptions } from "./request.ts";
import { readServerEvents, type ServerEvent } from "./sse.ts";

export type ProcessEvent =
  | {
      readonly type: "output";
      readonly stream: "stdout" | "stderr";
      readonly bytes: Uint8Array;
      /** Where the stream goes on after this. */
      readonly cursor: number;
    }
  | { readonly type: "dropped"; readonly bytes: number }
  | { readonly type: "end"; readonly process: OperationOutput<"process.get"> };

export interface FileEvent {
  readonly type: string;
  readonly path: string | null;
}

export interface HoldfastEvent {
  readonly id: number;
  readonly kind: string;
  readonly target: string | null;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Iterates over an event stream. A stream that breaks off is opened again where it stopped (`Last-Event-ID`); after five failures in a
 * row the last one is thrown. Ends after a process's `end` event, when the caller stops, or throws the signal's reason.
 */
export async function* followEvents<Item>(
  connection: Connection,
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  options: CallOptions,
  read: (event: ServerEvent) => Item | undefined,
  isLast: (item: Item) => boolean,
): AsyncGenerator<Item> {
  let lastId: string | undefined;
  for (let failures = 0; ; ) {
    try {
      const headers = {
        accept: "text/event-stream",
        ...(lastId === undefined ? {} : { "last-event-id": lastId }),
      };
      const response = await connection.send(operation, input, options, { headers });
      if (!response.body) throw new HoldfastConnectionError("The event stream has no body.");
      for await (const event of readServerEvents(response.body)) {
        failures = 0;
        lastId = event.id ?? lastId;
        const item = read(event);
        if (item === undefined) continue;
        yield item;
        if (isLast(item)) return;
      }
      failures += 1;
      if (failures > 5) throw new HoldfastConnectionError("The event stream keeps ending early.");
    } catch (error) {
      if (options.signal?.aborted || !isBreak(error)) throw error;
      failures += 1;
      if (failures > 5) throw error;
    }
    await connection.sleep(100 * 2 ** failures, options.signal);
  }
}

export const readProcessEvent = (event: ServerEvent): ProcessEvent | undefined => {
  if (event.event === "output") {
    const data = JSON.parse(event.data) as {
      stream: "stdout" | "stderr" | "terminal";
      base64: string;
      cursor: number;
    };
    return {
      type: "output",
      stream: data.stream === "stderr" ? "stderr" : "stdout",
      bytes: bytesFromBase64(data.base64),
      cursor: data.cursor,
    };
  }
  if (event.event === "dropped") {
    return { type: "dropped", bytes: (JSON.parse(event.data) as { bytes: number }).bytes };
  }
  if (event.event === "end") {
    const data = JSON.parse(event.data) as { process?: OperationOutput<"process.get"> };
    return { type: "end", process: data.process ?? (data as OperationOutput<"process.get">) };
  }
  return undefined;
};

export const readFileEvent = (event: ServerEvent): FileEvent | undefined => {
  if (event.event === "overflow") return { type: "overflow", path: null };
  if (event.event !== "change") return undefined;
  const data = JSON.parse(event.data) as { type: string; path: string };
  return { type: data.type, path: data.path };
};

export const readHoldfastEvent = (event: ServerEvent): HoldfastEvent | undefined => {
  const data = JSON.parse(event.data) as Partial<HoldfastEvent>;
  if (typeof data.kind !== "string") return undefined;
  return {
    id: data.id ?? Number(event.id),
    kind: data.kind,
    target: data.target ?? null,
    at: data.at ?? "",
    data: data.data ?? {},
  };
};

const bytesFromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** A body that breaks off surfaces as a plain TypeError of the stream. */
const isBreak = (error: unknown): boolean =>
  error instanceof HoldfastConnectionError || error instanceof TypeError;
