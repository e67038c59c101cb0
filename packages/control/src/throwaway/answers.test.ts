import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limits } from "@holdfast/contract";
import { AgentUnreachable } from "../domain/agents.ts";
import { answerOf, diffAnswer, manifestAnswer, manifestOf, packAnswer, unpackAnswer } from "./answers.ts";

/** The tool ran beside hostile files: what it says may be theirs. */
describe("what a tool in a cell says", () => {
  const say = (value: unknown): Buffer => Buffer.from(`noise\n${JSON.stringify(value)}\n`);
  const broken = (output: Buffer, reply: Parameters<typeof answerOf>[1]): void =>
    assert.throws(() => answerOf(output, reply), AgentUnreachable);
  const digest = "a".repeat(64);
  const packed = { digest, bytes: 1, entries: 1, left_out: 0 };
  const difference = { path: "/work/a", change: "added", kind: "file", size_before: null, size_after: 1 };
  const diff = { differences: [difference], added: 1, changed: 0, removed: 0, truncated: false, next: null };

  it("is taken when it fits, its last line alone", () => {
    assert.deepEqual(answerOf(say({ done: packed }), packAnswer), packed);
    assert.deepEqual(answerOf(say({ done: diff }), diffAnswer).differences[0]?.sizeAfter, 1);
  });

  it("is no answer when it does not fit", () => {
    broken(Buffer.alloc(0), packAnswer);
    broken(Buffer.from("{"), packAnswer);
    broken(Buffer.from("[".repeat(200_000) + "]".repeat(200_000)), packAnswer);
    broken(say(null), packAnswer);
    broken(say({}), packAnswer);
    broken(say({ done: { ...packed, digest: "A".repeat(64) } }), packAnswer);
    broken(say({ done: { ...packed, bytes: -1 } }), packAnswer);
    broken(say({ done: { ...packed, bytes: 1e300 } }), packAnswer);
    broken(
      say({ done: { ...diff, differences: Array(limits.differencePage + 1).fill(difference) } }),
      diffAnswer,
    );
    broken(say({ done: { ...diff, next: "../x" } }), diffAnswer);
    broken(say({ done: { ...diff, differences: [{ ...difference, change: "stolen" }] } }), diffAnswer);
    broken(
      say({ done: { ...diff, differences: [{ ...difference, path: "x".repeat(20_000) }] } }),
      diffAnswer,
    );
    broken(say({ done: { entries: 1, bytes: 1, definitions: 1 } }), unpackAnswer);
    broken(say({ refused: { code: "owner_required", message: "x", entry: null } }), packAnswer);
    broken(say({ refused: { code: "damaged", message: "x".repeat(1000), entry: null } }), packAnswer);
  });

  it("is passed on as our own error when it refuses, without what a terminal would obey", () => {
    const refused = { code: "archive_refused", message: "bad\u001b[2J", entry: "work/\u0007\na" };
    assert.throws(() => answerOf(say({ refused }), packAnswer), {
      code: "archive_refused",
      message: "work/  a: bad [2J",
      details: { entry: "work/  a", reason: "bad [2J" },
    });
    assert.throws(() => answerOf(say({ refused: { ...refused, code: "damaged" } }), packAnswer), {
      code: "computer_failed",
      details: { reason: "archive_damaged" },
    });
  });

  const entry = {
    path: "/work/a",
    kind: "directory",
    mode: 0o755,
    bytes: 0,
    digest: null,
    target: null,
  } as const;
  const file = { ...entry, path: "/work/a/f", kind: "file", bytes: 3, digest } as const;
  const link = { ...entry, path: "/work/a/l", kind: "link", target: "../../etc" } as const;

  it("names what was asked for, and what is in it, once", () => {
    const manifest = manifestOf([entry, file, link], ["/work/a"]);
    assert.equal(manifest.bytes, 3);
    assert.equal(manifest.digest, manifestOf([entry, file, link], ["/work/a"]).digest);
    assert.notEqual(manifest.digest, manifestOf([entry, { ...file, mode: 0o700 }, link], ["/work/a"]).digest);
    const wrong = {
      "another path": [entry, file, { ...link, path: "/work/b" }],
      "a path through a link": [entry, link, { ...file, path: "/work/a/l/x" }],
      "a path through a file": [entry, file, { ...link, path: "/work/a/f/x" }],
      "a path before its directory": [file, entry],
      "a path with ..": [entry, { ...file, path: "/work/a/../../etc/passwd" }],
      "a relative path": [entry, { ...file, path: "work/a/f" }],
      "the same twice": [entry, file, file],
      "nothing of what was asked for": [],
      "a file without a digest": [entry, { ...file, digest: null }],
      "a directory with one": [{ ...entry, digest }],
      "a link without a target": [entry, { ...link, target: null }],
      "a directory with content": [{ ...entry, bytes: 1 }],
      "more than may be offered": [
        entry,
        { ...file, bytes: limits.offerBytes },
        { ...file, path: "/work/a/g" },
      ],
    };
    for (const [what, entries] of Object.entries(wrong))
      assert.throws(() => manifestOf(entries, ["/work/a"]), AgentUnreachable, what);
  });

  it("may not set more than permissions, nor hide what a path is", () => {
    for (const bad of [
      { ...file, mode: 0o4755 },
      { ...file, path: "/work/a/\0" },
      { ...link, target: "x\0y" },
      { ...file, path: "/work/a/\ud800" },
      { ...entry, kind: "device" },
      { ...file, bytes: limits.offerBytes + 1 },
    ])
      broken(say({ done: { entries: [bad] } }), manifestAnswer);
  });
});
