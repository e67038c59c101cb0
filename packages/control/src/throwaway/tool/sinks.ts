import { closeSync, constants, fsyncSync, openSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { stdin, stdout } from "node:process";

type Sink = (pieces: AsyncIterable<Buffer>) => Promise<void>;

const partBytes = 8 * 1024 * 1024;
/** Parts that lie there and were not fetched yet. */
const partsMost = 4;

/** Durable when it resolves. A file that is there already is begun anew. */
export const toFile =
  (path: string): Sink =>
  async (pieces) => {
    const file = openNew(path);
    try {
      for await (const piece of pieces) writeAll(file, piece);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  };

/**
 * Numbered files of some size, from 0. Each is told by a line when it is whole; for each byte that comes on standard input the oldest is
 * deleted. So whoever fetches them sets the pace, and the disk never holds more than a few.
 */
export const toParts =
  (directory: string): Sink =>
  async (pieces) => {
    const fetched = stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let [made, deleted, acknowledged] = [0, 0, 0];
    let file: number | undefined;
    let bytes = 0;
    const finish = async (): Promise<void> => {
      if (file === undefined) return;
      closeSync(file);
      file = undefined;
      const path = `${directory}/${made}`;
      renameSync(`${path}.new`, path);
      stdout.write(`${JSON.stringify({ part: made, bytes })}\n`);
      made += 1;
      bytes = 0;
      while (made - deleted >= partsMost) await deleteFetched();
    };
    const deleteFetched = async (): Promise<void> => {
      if (acknowledged === deleted) {
        const next = await fetched.next();
        if (next.done === true) throw new Error("nobody fetches the parts any more");
        acknowledged += next.value.length;
      }
      unlinkSync(`${directory}/${deleted}`);
      deleted += 1;
    };
    for await (const piece of pieces) {
      file ??= openNew(`${directory}/${made}.new`);
      writeAll(file, piece);
      bytes += piece.length;
      if (bytes >= partBytes) await finish();
    }
    await finish();
    stdin.destroy();
  };

const openNew = (path: string): number =>
  openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW, 0o600);

const writeAll = (file: number, piece: Buffer): void => {
  for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
};
