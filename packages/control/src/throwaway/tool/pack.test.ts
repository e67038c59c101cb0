import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import { temporaryDirectory } from "../../../../../test/support/temporary.ts";
import {
  copy,
  listing,
  makeImage,
  makeTree,
  must,
  runTool,
  type TestTree,
  whiteout,
} from "../../../../../test/support/trees.ts";
import type { PackRequest, UnpackRequest } from "./request.ts";

const isRoot = process.getuid?.() === 0;

describe("packing a computer and putting it in place again", { skip: !isRoot && "owners need root" }, () => {
  const scratch = temporaryDirectory("pack");
  const image = makeImage(join(scratch.path, "image"));
  let tree: TestTree;
  before(async () => {
    tree = await hostileTree(join(scratch.path, "tree"), image);
  });
  after(() => scratch.remove());

  const packTo = (fields: Partial<PackRequest>) =>
    runTool(
      {
        kind: "pack",
        tree: tree.path,
        purpose: "archive",
        definitions: null,
        to: { file: join(scratch.path, "archive") },
        ...fields,
      },
      scratch.path,
    );
  const fresh = (name: string): string => {
    const root = join(scratch.path, name);
    rmSync(root, { recursive: true, force: true });
    copy(image, root);
    return root;
  };
  const unpackFrom = (fields: Partial<UnpackRequest> & { readonly root: string }, input?: Buffer) =>
    runTool(
      {
        kind: "unpack",
        purpose: "archive",
        file: join(scratch.path, "archive"),
        digest: null,
        mostEntries: 100_000,
        ...fields,
      },
      scratch.path,
      { ...(input && { input }) },
    );

  it("brings everything back as it was", async () => {
    const { answer, stderr } = await packTo({});
    const { done } = answer as { done: { digest: string; bytes: number; left_out: number } };
    assert.equal(stderr, "");
    const file = readFileSync(join(scratch.path, "archive"));
    assert.equal(done.bytes, file.length);
    assert.equal(done.digest, createHash("sha256").update(file).digest("hex"));
    assert.ok(file.length < 200_000, `holes were packed: ${file.length}`);
    const root = fresh("again");
    const unpacked = await unpackFrom({ root, digest: done.digest });
    assert.ok(
      unpacked.answer && "done" in (unpacked.answer as object),
      `${unpacked.stderr}${JSON.stringify(unpacked.answer)}`,
    );
    // A socket is dead without who made it.
    assert.deepEqual(
      listing(join(root, "work")),
      listing(tree.work).filter((line) => !line.includes("socket")),
    );
    assert.deepEqual(listing(root, ["work"]), listing(join(tree.path, "root"), ["work"]));
  });

  it("makes the same of a half of it, done again", async () => {
    const root = fresh("twice");
    const file = join(scratch.path, "archive");
    const half = readFileSync(file).subarray(0, 3000);
    writeFileSync(join(scratch.path, "half"), half);
    const broken = await unpackFrom({ root, file: join(scratch.path, "half"), digest: "0" });
    assert.equal((broken.answer as Refused).refused.code, "damaged");
    await unpackFrom({ root });
    assert.deepEqual(listing(root, ["work"]), listing(join(tree.path, "root"), ["work"]));
  });

  it("exports what another host takes, and takes it", async () => {
    const definitions = JSON.stringify({ services: [{ name: "ü" }] });
    const parts = join(scratch.path, "parts");
    mkdirSync(parts);
    const pieces: Buffer[] = [];
    const { answer } = await runTool(
      { kind: "pack", tree: tree.path, purpose: "export", definitions, to: { parts } },
      scratch.path,
      {
        respond: (line) => {
          const { part } = JSON.parse(line) as { part?: number };
          if (part === undefined) return undefined;
          pieces.push(readFileSync(join(parts, String(part))));
          return Buffer.from(".");
        },
      },
    );
    const { done } = answer as { done: { digest: string; left_out: number } };
    const file = Buffer.concat(pieces);
    assert.equal(done.digest, createHash("sha256").update(file).digest("hex"));
    // The socket, the pipe.
    assert.equal(done.left_out, 2);
    const root = fresh("imported");
    const taken = await unpackFrom({ root, purpose: "export", file: null }, file);
    assert.equal((taken.answer as { done: { definitions: string } }).done.definitions, definitions);
    const expected = listing(tree.work)
      .filter((line) => !/socket|fifo/.test(line))
      .map((line) => line.replace('"setuid" 104755', '"setuid" 100755'));
    assert.deepEqual(listing(join(root, "work")), expected);
    const plain = join(scratch.path, "plain.tar");
    writeFileSync(plain, zstdDecompressSync(file));
    must("tar", ["-tf", plain]);
  });

  it("refuses an archive as an export, and one that is not what was written down", async () => {
    const file = join(scratch.path, "archive");
    const asExport = await unpackFrom({ root: fresh("wrong"), purpose: "export" });
    assert.equal((asExport.answer as Refused).refused.code, "archive_refused");
    const other = await unpackFrom({ root: fresh("wrong"), digest: "0".repeat(64) });
    assert.equal((other.answer as Refused).refused.code, "damaged");
    const bytes = readFileSync(file);
    for (const at of [100, Math.floor(bytes.length / 2), bytes.length - 10]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x40;
      const answer = (await unpackFrom({ root: fresh("wrong"), file: null, digest: "0" }, changed)).answer;
      assert.equal((answer as Refused).refused.code, "damaged", `byte ${at}`);
    }
  });
});

interface Refused {
  readonly refused: { readonly code: string; readonly message: string };
}

/** Everything that a computer may have and that other programs stumble over. */
const hostileTree = async (path: string, image: string): Promise<TestTree> => {
  const tree = makeTree(path, image);
  const { work, changes } = tree;
  const file = (name: Buffer | string, content = "x"): void => writeFileSync(at(work, name), content);
  file("new\nline -rf *");
  file(Buffer.from([0xff, 0xfe, 0x0a, 0x41]));
  file("-ü a%2Fb \\ \"'");
  file("n".repeat(255));
  symlinkSync("loop", join(work, "loop"));
  symlinkSync("../../../../etc/passwd", join(work, "out"));
  symlinkSync("changes/etc", join(work, "named like a member"));
  must("mkfifo", [join(work, "fifo")]);
  await new Promise<void>((resolve) => {
    const server = createServer().listen(join(work, "socket"), () => {
      // Closed by its name, it would be deleted.
      server.unref();
      resolve();
    });
  });
  file("setuid", "#!/bin/sh\n");
  chmodSync(join(work, "setuid"), 0o4755);
  mkdirSync(join(work, "shared"));
  chmodSync(join(work, "shared"), 0o2770);
  file("owned");
  must("chown", ["1234:4321", join(work, "owned")]);
  file("shared/one", "linked");
  linkSync(join(work, "shared/one"), join(work, "shared/two"));
  file("empty", "");
  file("sparse", "begin");
  truncateSync(join(work, "sparse"), 64 * 1024 ** 2);
  const sparse = openSync(join(work, "sparse"), "r+");
  writeSync(sparse, "middle", 40 * 1024 ** 2);
  utimesSync(join(work, "empty"), 1_000_000_000.123, 1_000_000_000.123);
  let deep = work;
  for (let level = 0; level < 12; level += 1) mkdirSync((deep = join(deep, "d".repeat(200))));
  writeFileSync(join(deep, "bottom"), "deep");

  for (const directory of ["etc", "usr/bin", "usr/lib/x", "opt", "root/new"])
    mkdirSync(join(changes, directory), { recursive: true });
  writeFileSync(join(changes, "etc/passwd"), "changed\n");
  writeFileSync(join(changes, "root/new/file"), "new\n");
  whiteout(join(changes, "etc/old"));
  whiteout(join(changes, "opt/gone"));
  // Replaced: what the image has in it is hidden, by an attribute that a cell cannot read.
  writeFileSync(join(changes, "usr/lib/x/3"), "alone\n");
  // A directory that became a link, and a file that became a directory.
  rmSync(join(changes, "usr/bin"), { recursive: true });
  symlinkSync("lib", join(changes, "usr/bin"));
  mkdirSync(join(changes, "var/lib"), { recursive: true });
  writeFileSync(join(changes, "var/lib/state"), "s");
  tree.merge(["usr/lib/x"]);
  // `cp` of the fixture gives a link its own time; the directories of both are the changes'.
  for (const directory of ["etc", "usr", "usr/lib", "usr/lib/x", "opt", "root", "root/new", "var", "var/lib"])
    must("touch", ["-r", join(changes, directory), join(path, "root", directory)]);
  return tree;
};

const at = (directory: string, name: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name)]);
