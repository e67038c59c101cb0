import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { temporaryDirectory } from "../../../../../test/support/temporary.ts";
import { must, runTool } from "../../../../../test/support/trees.ts";
import type { ManifestAnswer } from "./request.ts";

describe("listing what is offered", () => {
  const scratch = temporaryDirectory("manifest");
  let work: string;
  let root: string;
  let made = 0;
  beforeEach(() => {
    root = join(scratch.path, `tree-${(made += 1)}`);
    work = join(root, "work");
    mkdirSync(work, { recursive: true });
  });
  after(() => scratch.remove());

  const ask = async (paths: readonly string[], most: { entries?: number; bytes?: number } = {}) => {
    const said = await runTool(
      {
        kind: "manifest",
        root,
        paths,
        mostEntries: most.entries ?? 5000,
        mostBytes: most.bytes ?? 1024 ** 3,
      },
      root,
    );
    assert.equal(said.code, 0, said.stderr);
    return said.answer as { done: ManifestAnswer; refused?: { code: string; entry: string | null } };
  };
  const refusal = async (...args: Parameters<typeof ask>): Promise<string> => {
    const { refused } = await ask(...args);
    return `${refused?.code} ${refused?.entry}`;
  };

  it("names everything once, files by their content, links by where they point", async () => {
    mkdirSync(join(work, "site/sub"), { recursive: true });
    writeFileSync(join(work, "site/index.html"), "hello");
    chmodSync(join(work, "site/index.html"), 0o640);
    writeFileSync(join(work, "site/sub/ü\n"), "");
    symlinkSync("../../../../etc/passwd", join(work, "site/sub/link"));
    writeFileSync(join(work, "one"), "1");
    chmodSync(join(work, "site/sub"), 0o2755);
    // A project's history is its own.
    mkdirSync(join(work, "site/.git/hooks"), { recursive: true });
    const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
    const { done } = await ask(["/work/one", "/work/site", "/work/site/sub"]);
    const plain = { mode: 0o644, bytes: 0, digest: null, target: null };
    assert.deepEqual(done.entries, [
      { ...plain, path: "/work/one", kind: "file", bytes: 1, digest: sha("1") },
      { ...plain, path: "/work/site", kind: "directory", mode: 0o755 },
      { ...plain, path: "/work/site/index.html", kind: "file", mode: 0o640, bytes: 5, digest: sha("hello") },
      { ...plain, path: "/work/site/sub", kind: "directory", mode: 0o755 },
      { ...plain, path: "/work/site/sub/link", kind: "link", mode: 0o777, target: "../../../../etc/passwd" },
      { ...plain, path: "/work/site/sub/ü\n", kind: "file", digest: sha("") },
    ]);
  });

  it("refuses what cannot be handed on", async () => {
    const within = (name: string): string => join(work, name);
    const twins = ["e\u0301", "\u00e9"];
    const makers: Readonly<Record<string, () => void>> = {
      setuid: () => {
        writeFileSync(within("setuid"), "");
        chmodSync(within("setuid"), 0o4755);
      },
      setgid: () => {
        writeFileSync(within("setgid"), "");
        chmodSync(within("setgid"), 0o2755);
      },
      fifo: () => must("mkfifo", [within("fifo")]),
    };
    for (const [name, make] of Object.entries(makers)) {
      make();
      assert.equal(await refusal([`/work/${name}`]), `archive_refused /work/${name}`);
    }
    mkdirSync(within("bytes"));
    writeFileSync(Buffer.concat([Buffer.from(within("bytes/")), Buffer.from([0xff])]), "");
    assert.equal(await refusal(["/work/bytes"]), "archive_refused /work/bytes/\ufffd");
    mkdirSync(within("twins"));
    for (const name of twins) writeFileSync(within(`twins/${name}`), "");
    assert.match(await refusal(["/work/twins"]), /^archive_refused \/work\/twins\//);
  });

  it("looks neither behind a link nor elsewhere", async () => {
    symlinkSync("/etc", join(work, "etc"));
    assert.equal(await refusal(["/work/etc/passwd"]), "archive_refused /work/etc/passwd");
    assert.equal((await ask(["/work/etc"])).done.entries[0]?.target, "/etc");
    assert.equal(await refusal(["/work/nothing"]), "file_not_found /work/nothing");
    for (const path of ["/work/../etc", "/work/./a", "/work//a", "work/a", "/work/"])
      assert.equal(await refusal([path]), `archive_refused ${path}`);
  });

  it("reads no more than may be offered", async () => {
    writeFileSync(join(work, "hole"), "");
    truncateSync(join(work, "hole"), 1024 ** 4);
    assert.equal(await refusal(["/work/hole"]), "too_large /work/hole");
    mkdirSync(join(work, "many"));
    for (let index = 0; index < 20; index += 1) writeFileSync(join(work, "many", String(index)), "x");
    assert.equal(await refusal(["/work/many"], { entries: 20 }), "too_large null");
    assert.match(await refusal(["/work/many"], { bytes: 19 }), /^too_large/);
    assert.equal((await ask(["/work/many"], { entries: 21, bytes: 20 })).done.entries.length, 21);
  });
});
