import {
  type AgentEnd,
  type AgentEvent,
  agentMethods,
  type AgentResult,
  type AgentStream,
  frameType,
  outputStream,
} from "@holdfast/contract";
import type { Download, Piece } from "../domain/agents.ts";
import type { AgentConnection } from "./connection.ts";
import { readFault } from "./faults.ts";
import type { Frame } from "./frames.ts";
import { parseJson } from "./json.ts";
import { ProtocolViolation } from "./violation.ts";

/** The RESULT of a call; an ERROR is thrown as the fault it carries. */
export const readResult = <M extends keyof typeof agentMethods>(method: M, frame: Frame): AgentResult<M> => {
  if (frame.type === frameType.error) throw readFault(method, frame.payload);
  if (frame.type !== frameType.result)
    throw new ProtocolViolation(`a frame of type ${frame.type} came where the result of ${method} was due`);
  // One cast for the whole table: the schema of a method is looked up by its name.
  return parseJson(agentMethods[method].result, frame.payload, `the result of ${method}`) as AgentResult<M>;
};

/** What follows the RESULT of a download or duplex call, until END. */
export const readPieces = <M extends AgentStream>(options: {
  readonly method: M;
  readonly connection: AgentConnection;
  readonly head: AgentResult<M>;
  readonly stallMs: number;
  /** Turns what breaks the stream into what our callers know. */
  readonly explain: (error: unknown) => unknown;
}): Download<M> => {
  const { method, connection, stallMs } = options;
  let ended: AgentEnd<M> | undefined;
  async function* pieces(): AsyncGenerator<Piece<M>, void, undefined> {
    try {
      for (;;) {
        const frame = await connection.next(stallMs);
        if (frame.type === frameType.end) {
          ended = parseJson(agentMethods[method].end, frame.payload, `the end of ${method}`) as AgentEnd<M>;
          return;
        }
        yield readPiece(method, frame);
      }
    } catch (error) {
      throw options.explain(error);
    } finally {
      connection.close();
    }
  }
  return { head: options.head, pieces: pieces(), end: () => ended, close: () => connection.close() };
};

const readPiece = <M extends AgentStream>(method: M, frame: Frame): Piece<M> => {
  const carries: readonly Piece<M>["kind"][] = agentMethods[method].carries;
  const refuse = (kind: Piece<M>["kind"]): void => {
    if (!carries.includes(kind))
      throw new ProtocolViolation(`the stream of ${method} carries no ${kind} frames`);
  };
  switch (frame.type) {
    case frameType.data:
      refuse("data");
      return { kind: "data", bytes: frame.payload };
    case frameType.output: {
      refuse("output");
      const stream = frame.payload[0];
      if (stream !== outputStream.stdout && stream !== outputStream.stderr)
        throw new ProtocolViolation(`there is no output stream ${stream}`);
      const name = stream === outputStream.stdout ? "stdout" : "stderr";
      return { kind: "output", stream: name, bytes: frame.payload.subarray(1) };
    }
    case frameType.event:
      refuse("event");
      return {
        kind: "event",
        event: parseJson(agentMethods[method].event, frame.payload, `an event of ${method}`) as AgentEvent<M>,
      };
    case frameType.error:
      throw readFault(method, frame.payload);
    case frameType.hello:
    case frameType.call:
    case frameType.result:
    case frameType.end:
    case frameType.control:
      throw new ProtocolViolation(`a frame of type ${frame.type} came in the stream of ${method}`);
  }
};
