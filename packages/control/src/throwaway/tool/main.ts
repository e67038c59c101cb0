import { readFileSync } from "node:fs";
import { argv, stdout } from "node:process";
import { diff } from "./diff.ts";
import { manifest } from "./manifest.ts";
import { pack } from "./pack.ts";
import { errnoOf, Refusal } from "./refusal.ts";
import type { Answer, Request } from "./request.ts";
import { unpack } from "./unpack.ts";

/**
 * Runs inside a cell, with the Node that is there and nothing else of ours: looks at trees that may be hostile, and says what it found as one
 * line of JSON. Follows no link. Control takes what it says as a stranger's word all the same.
 */
const main = async (): Promise<void> => {
  const request = JSON.parse(readFileSync(argv[2] ?? "", "utf8")) as Request;
  const answer: Answer = await run(request).then((done) => ({ done }), refusal);
  stdout.write(`${JSON.stringify(answer)}\n`);
};

const run = async (request: Request): Promise<unknown> => {
  switch (request.kind) {
    case "diff":
      return diff(request);
    case "manifest":
      return manifest(request);
    case "pack":
      return pack(request);
    case "unpack":
      return unpack(request);
  }
};

const refusal = (error: unknown): Answer => {
  const full = new Set(["ENOSPC", "EDQUOT"]).has(errnoOf(error) ?? "");
  const known = full ? new Refusal("disk_full", "the disk is full") : error;
  if (!(known instanceof Refusal)) throw error;
  return { refused: { code: known.code, message: known.message, entry: known.entry } };
};

await main();
