import { type AgentMethodOf, type AgentResult, frameType } from "@holdfast/contract";
import { AgentFault } from "../domain/agents.ts";
import type { AgentConnection } from "./connection.ts";
import { readResult } from "./download.ts";
import { toJson } from "./json.ts";

/** Payload of one DATA frame: large enough to cost little, small enough that a stalled upload holds little. */
const pieceBytes = 256 * 1024;

/**
 * Sends `body` and END while watching for the agent's word, which may come early: a refusal stops the sending and closes `body`. The agent
 * has `stallMs` to take each piece and `lastMs` for its RESULT after END.
 */
export const sendBody = async <M extends AgentMethodOf<"upload">>(options: {
  readonly method: M;
  readonly connection: AgentConnection;
  readonly body: AsyncIterable<Uint8Array>;
  readonly stallMs: number;
  readonly lastMs: number;
}): Promise<AgentResult<M>> => {
  const { method, connection, stallMs } = options;
  let spoken = false;
  let stop = (): void => {};
  const word = connection
    .next(Number.POSITIVE_INFINITY)
    .then((frame) => readResult(method, frame))
    .finally(() => {
      spoken = true;
      stop();
    });
  word.catch(() => {});
  const iterator = options.body[Symbol.asyncIterator]();
  const nextPiece = (): Promise<IteratorResult<Uint8Array> | undefined> =>
    new Promise((resolve, reject) => {
      stop = () => resolve(undefined);
      iterator.next().then(resolve, reject);
    });
  try {
    while (!spoken) {
      const piece = await nextPiece();
      if (piece === undefined) break;
      if (piece.done === true) {
        await connection.write(frameType.end, toJson({}), stallMs);
        break;
      }
      for (let at = 0; at < piece.value.length && !spoken; at += pieceBytes)
        await connection.write(frameType.data, piece.value.subarray(at, at + pieceBytes), stallMs);
    }
  } catch (error) {
    // The caller's stream broke, or ours did. When the agent has said why, its word is the better one.
    connection.close();
    const said = await word.catch((reason: unknown) => reason);
    throw said instanceof AgentFault ? said : error;
  } finally {
    iterator.return?.().catch(() => {});
  }
  const relax = connection.expire(options.lastMs);
  return word.finally(relax);
};
