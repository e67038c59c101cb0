import {
  type Operation,
  type OperationInput,
  type OperationName,
  type OperationOutput,
  operations,
} from "@holdfast/contract";
import { type Attachment, openAttachment } from "./attach.ts";
import { type Bytes, Connection, type ConnectionOptions } from "./connection.ts";
import {
  type FileEvent,
  followEvents,
  type HoldfastEvent,
  type ProcessEvent,
  readFileEvent,
  readHoldfastEvent,
  readProcessEvent,
} from "./events.ts";
import { createRuntime, type Runtime } from "./lib/runtime.ts";
import { nouns, type Noun } from "./nouns.ts";
import type { CallOptions } from "./request.ts";

export interface ClientOptions extends ConnectionOptions {
  /** Replaces parts of the surroundings, `fetch` for example. */
  readonly runtime?: Partial<Runtime>;
}

/** A file or an archive on its way out. Read `stream` to its end, or cancel it. */
export interface Download {
  readonly stream: ReadableStream<Uint8Array>;
  /** Null when the server could not say beforehand. */
  readonly sizeBytes: number | null;
}

/** Operations whose reply or body is not JSON. A test holds this list and the operations table together. */
interface StreamCalls {
  "process.follow": (
    input: OperationInput<"process.follow">,
    options?: CallOptions,
  ) => AsyncIterable<ProcessEvent>;
  "process.attach": (input: OperationInput<"process.attach">, options?: CallOptions) => Promise<Attachment>;
  "file.watch": (input: OperationInput<"file.watch">, options?: CallOptions) => AsyncIterable<FileEvent>;
  "event.stream": (
    input: OperationInput<"event.stream">,
    options?: CallOptions,
  ) => AsyncIterable<HoldfastEvent>;
  "file.download": (input: OperationInput<"file.download">, options?: CallOptions) => Promise<Download>;
  "archive.export": (input: OperationInput<"archive.export">, options?: CallOptions) => Promise<Download>;
  "file.upload": (
    input: OperationInput<"file.upload">,
    body: Bytes,
    options?: CallOptions,
  ) => Promise<OperationOutput<"file.upload">>;
  "archive.import": (
    input: OperationInput<"archive.import">,
    body: Bytes,
    options?: CallOptions,
  ) => Promise<OperationOutput<"archive.import">>;
  "project.export": (input: OperationInput<"project.export">, options?: CallOptions) => Promise<Download>;
  "project.import": (
    input: OperationInput<"project.import">,
    body: Bytes,
    options?: CallOptions,
  ) => Promise<OperationOutput<"project.import">>;
  "snapshot.export": (input: OperationInput<"snapshot.export">, options?: CallOptions) => Promise<Download>;
  "snapshot.import": (
    input: OperationInput<"snapshot.import">,
    body: Bytes,
    options?: CallOptions,
  ) => Promise<OperationOutput<"snapshot.import">>;
}

/** The call of one operation. Operations without a required field may be called without an input. */
export type Call<Name extends OperationName> = Name extends keyof StreamCalls
  ? StreamCalls[Name]
  : Record<string, never> extends OperationInput<Name>
    ? (input?: OperationInput<Name>, options?: CallOptions) => Promise<OperationOutput<Name>>
    : (input: OperationInput<Name>, options?: CallOptions) => Promise<OperationOutput<Name>>;

type VerbsOf<N extends Noun> = {
  readonly [Name in OperationName as Name extends `${N}.${infer Verb}` ? Verb : never]: Call<Name>;
};

/**
 * The typed client: one method for each operation of the contract, `client.<nouns>.<verb>(input, options)`. Every call may throw
 * `HoldfastApiError`, `HoldfastConnectionError`, or the reason of its signal.
 */
export type HoldfastClient = { readonly [N in Noun as (typeof nouns)[N]]: VerbsOf<N> } & {
  readonly baseUrl: string;
  /** Calls a JSON operation by its name, for programs that walk the operations table. */
  call(
    name: OperationName,
    input: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<unknown>;
};

export const createClient = (options: ClientOptions): HoldfastClient => {
  const connection = new Connection(options, createRuntime(options.runtime));
  const client: Record<string, unknown> = {
    baseUrl: connection.baseUrl,
    call: (name: OperationName, input: Readonly<Record<string, unknown>>, call: CallOptions = {}) =>
      connection.json(operations[name], input, call),
  };
  for (const operation of Object.values(operations)) {
    const [noun = "", verb = ""] = operation.name.split(".");
    const group = nouns[noun as Noun];
    client[group] = { ...(client[group] as object | undefined), [verb]: methodOf(connection, operation) };
  }
  // Built from the same table that the type is computed from.
  return client as unknown as HoldfastClient;
};

type Input = Readonly<Record<string, unknown>>;

const methodOf = (connection: Connection, operation: Operation): unknown => {
  if (operation.body === "bytes") {
    return (input: Input, body: Bytes, options: CallOptions = {}) =>
      connection.json(operation, input, options, { body });
  }
  switch (operation.reply) {
    case "json":
      return (input: Input = {}, options: CallOptions = {}) => connection.json(operation, input, options);
    case "bytes":
      return (input: Input, options: CallOptions = {}) => download(connection, operation, input, options);
    case "terminal":
      return (input: Input, options: CallOptions = {}) =>
        openAttachment(connection.socket(operation, input), options.signal);
    case "events":
      return (input: Input = {}, options: CallOptions = {}) => events(connection, operation, input, options);
  }
};

const download = async (
  connection: Connection,
  operation: Operation,
  input: Input,
  options: CallOptions,
): Promise<Download> => {
  const response = await connection.send(operation, input, options);
  const length = response.headers.get("content-length");
  return {
    stream: response.body ?? new Blob([]).stream(),
    sizeBytes: length === null ? null : Number(length),
  };
};

const events = (
  connection: Connection,
  operation: Operation,
  input: Input,
  options: CallOptions,
): AsyncIterable<unknown> => {
  if (operation.name === "process.follow") {
    return followEvents(
      connection,
      operation,
      input,
      options,
      readProcessEvent,
      (item) => item.type === "end",
    );
  }
  const read: (event: Parameters<typeof readFileEvent>[0]) => unknown =
    operation.name === "file.watch" ? readFileEvent : readHoldfastEvent;
  return followEvents(connection, operation, input, options, read, () => false);
};
