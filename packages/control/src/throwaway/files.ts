import { createHash } from "node:crypto";
import { HoldfastError, limits } from "@holdfast/contract";
import { z } from "zod";
import type { Agent } from "../domain/agents.ts";
import type { Imported } from "../domain/trees.ts";
import { answerOf, broken, jsonOf, packAnswer, unpackAnswer } from "./answers.ts";
import { bytesAt } from "./content.ts";
import { isEnded, type Requests, type Run } from "./requests.ts";
import type { Throwaway } from "./throwaways.ts";

const folder = "/work/parts";
/** A line of the tool; its answer is the longest. */
const lineBytes = 64 * 1024;

const part = z.object({
  part: z.number().int().nonnegative(),
  bytes: z
    .number()
    .int()
    .positive()
    .max(16 * 1024 * 1024),
});

/**
 * What the tool packs, as it packs it. It comes in parts, files on the throwaway's own disk: what a process writes is captured, and of much the
 * oldest is dropped. The next part is only made when this one has gone, so whoever reads sets the pace.
 */
export async function* exported(
  requests: Requests,
  { agent, signal }: Throwaway,
  definitions: string,
): AsyncGenerator<Buffer> {
  await agent.plain("files.mkdir", { path: folder, mode: 0o700 }, { signal });
  const run = await requests.start(
    agent,
    { kind: "pack", tree: "/trees/a", purpose: "export", definitions, to: { parts: folder } },
    signal,
    { stdin: "open" },
  );
  const hash = createHash("sha256");
  let bytes = 0;
  let next = 0;
  for await (const line of linesOf(run, signal)) {
    const told = part.safeParse(jsonOf(line));
    if (!told.success) {
      const packed = answerOf(Buffer.from(line), packAnswer);
      if (packed.bytes !== bytes || packed.digest !== hash.digest("hex"))
        throw broken("what it packed is another");
      return;
    }
    if (told.data.part !== next) throw broken("a part that is not the next");
    let left = told.data.bytes;
    for await (const piece of bytesAt(agent, `${folder}/${next}`, left, signal)) {
      hash.update(piece);
      left -= piece.length;
      yield piece;
    }
    if (left !== 0) throw broken("a part that is not whole");
    if ((bytes += told.data.bytes) > limits.downloadBytes) throw broken("more than may be downloaded");
    next += 1;
    await agent
      .upload("processes.write", { id: run.processId }, one(fetched), { signal })
      .catch((error: unknown) => {
        // It has packed the last and reads no more.
        if (!isEnded(error)) throw error;
      });
  }
  // It ended without an answer: that says why.
  await run.answer(packAnswer);
  throw broken("it ended before it was done");
}

const fetched = Buffer.from(".");

/** Lines of its standard output, until it ends. */
async function* linesOf({ agent, processId }: Run, signal: AbortSignal): AsyncGenerator<string> {
  const follow = await agent.download(
    "output.follow",
    { id: processId, cursor: 0 },
    { signal, endless: true },
  );
  let rest = Buffer.alloc(0);
  for await (const piece of follow.pieces) {
    if (piece.kind !== "output" || piece.stream !== "stdout") continue;
    rest = Buffer.concat([rest, piece.bytes]);
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
      yield rest.subarray(0, end).toString("utf8");
      rest = rest.subarray(end + 1);
    }
    if (rest.length > lineBytes) throw broken("a line that is too long");
  }
}

/** Feeds the tool in the computer's own cell, which reads it once and keeps no copy of it. */
export const importedFrom = async (
  requests: Requests,
  agent: Agent,
  file: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<Imported> => {
  const run = await requests.start(
    agent,
    {
      kind: "unpack",
      purpose: "export",
      file: null,
      digest: null,
      root: "/",
      mostEntries: limits.archiveEntries,
    },
    signal,
    { stdin: "open" },
  );
  try {
    await agent
      .upload("processes.write", { id: run.processId, close: true }, bounded(file), {
        signal,
        waitMs: limits.waitMs,
      })
      .catch((error: unknown) => {
        // It has refused what it had seen by then, and says so itself.
        if (!isEnded(error)) throw error;
      });
    const { entries, bytes, definitions } = await run.answer(unpackAnswer);
    return { entries, bytes, definitions: definitionsOf(definitions) };
  } finally {
    await run.close();
  }
};

/** Somebody may have packed it by hand. */
const definitionsOf = (text: string | null): unknown => {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    throw new HoldfastError("archive_refused", "what it says about its computer is no JSON", {
      entry: "definitions.json",
    });
  }
};

async function* bounded(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left: number = limits.uploadBytes;
  for await (const piece of file) {
    if ((left -= piece.length) < 0)
      throw new HoldfastError("too_large", "the file is larger than may be uploaded", {
        limit: limits.uploadBytes,
      });
    yield piece;
  }
}

async function* one(piece: Buffer): AsyncGenerator<Buffer> {
  yield piece;
}
