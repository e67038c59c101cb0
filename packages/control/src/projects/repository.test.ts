import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import type { GitOptions } from "./git.ts";
import { Repository } from "./repository.ts";

const commit = "0123456789".repeat(4);

/** A repository whose git says this to everything. */
const saying = (said: string | Buffer) => {
  const asked: { args: readonly string[]; options: GitOptions | undefined }[] = [];
  const repository = new Repository(
    (_place, args, options) => {
      asked.push({ args, options });
      return Promise.resolve({ exitCode: 0, stdout: Buffer.from(said), cut: true, said: "" });
    },
    { computer: {} as Computer, folder: "/work/shop", signal: new AbortController().signal },
  );
  return { repository, asked };
};

test("a commit's subject is one bounded line of text, whatever git in the computer says", async () => {
  const { repository, asked } = saying("Say two\n");
  assert.equal(await repository.subject(commit), "Say two");
  assert.deepEqual(asked[0]?.args.slice(-2), [commit, "--"]);
  // A longer one is cut, and no reason to refuse a deploy.
  assert.equal(asked[0]?.options?.mayBeCut, true);
  assert.ok((asked[0].options.mostBytes ?? Infinity) <= 4 * limits.commitMessageLength);
  const subjectOf = (said: string | Buffer): Promise<string> => saying(said).repository.subject(commit);
  assert.equal(await subjectOf(""), "");
  assert.equal(await subjectOf("\x1b[31mred\0\u202e\n"), "[31mred");
  const long = await subjectOf(`x${"😀".repeat(limits.commitMessageLength)}`);
  assert.ok(long.length <= limits.commitMessageLength);
  assert.ok(long.isWellFormed());
  assert.ok((await subjectOf(Buffer.of(0xff, 0x41))).endsWith("A"));
});
