import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { tarEntry } from "../../../../../test/support/tar.ts";
import { temporaryDirectory } from "../../../../../test/support/temporary.ts";
import { makeImage, runTool } from "../../../../../test/support/trees.ts";
import { formatName } from "./format.ts";
import type { UnpackAnswer, UnpackRequest } from "./request.ts";

const isRoot = process.getuid?.() === 0;

describe("importing what somebody made by hand", { skip: !isRoot && "owners need root" }, () => {
  const scratch = temporaryDirectory("unpack");
  after(() => scratch.remove());
  const root = join(scratch.path, "root");
  const beside = join(scratch.path, "beside");

  const take = async (file: Buffer, fields: Partial<UnpackRequest> = {}) => {
    rmSync(root, { recursive: true, force: true });
    rmSync(beside, { recursive: true, force: true });
    makeImage(root);
    symlinkSync("usr/bin", join(root, "bin"));
    mkdirSync(beside);
    writeFileSync(join(beside, "host"), "the host's");
    const said = await runTool(
      { kind: "unpack", purpose: "export", file: null, digest: null, root, mostEntries: 1000, ...fields },
      scratch.path,
      { input: file },
    );
    assert.equal(said.code, 0, said.stderr);
    assert.equal(readFileSync(join(beside, "host"), "utf8"), "the host's");
    return said.answer as { done?: UnpackAnswer; refused?: { code: string; message: string } };
  };
  const work = tarEntry({ name: "work/", type: "5", mode: 0o755 });

  it("takes a plain one", async () => {
    const { done } = await take(
      packed(
        [
          work,
          tarEntry({ name: "work/a", content: "a" }),
          tarEntry({ name: "changes/etc/", type: "5", mode: 0o755 }),
          tarEntry({ name: "changes/etc/passwd", content: "mine\n" }),
        ],
        { removed: "-etc/old\0=usr/lib/x\0" },
      ),
    );
    assert.equal(done?.entries, 4);
    assert.equal(readFileSync(join(root, "work/a"), "utf8"), "a");
    assert.equal(readFileSync(join(root, "etc/passwd"), "utf8"), "mine\n");
    assert.ok(!existsSync(join(root, "etc/old")) && !existsSync(join(root, "usr/lib/x/1")));
    assert.ok(existsSync(join(root, "usr/lib/x")));
  });

  const pax = (records: string, ...rest: Uint8Array[]): Uint8Array =>
    Buffer.concat([tarEntry({ name: "pax", type: "x", content: records }), ...rest]);
  const record = (key: string, value: string): string => {
    const rest = ` ${key}=${value}\n`.length;
    return `${rest + String(rest + 2).length} ${key}=${value}\n`;
  };
  const file = tarEntry({ name: "work/a", content: "a" });
  const hostile: Readonly<Record<string, readonly Uint8Array[]>> = {
    "a path with ..": [work, tarEntry({ name: "work/../../beside/host", content: "x" })],
    "an absolute path": [tarEntry({ name: "/etc/passwd", content: "x" })],
    "a path of its own": [tarEntry({ name: "beside", content: "x" })],
    "a path without its directory": [work, tarEntry({ name: "work/a/b", content: "x" })],
    "a link, then a file behind it": [
      work,
      tarEntry({ name: "work/l", type: "2", target: "../../beside" }),
      tarEntry({ name: "work/l/host", content: "x" }),
    ],
    "a link, then a directory of its name": [
      work,
      tarEntry({ name: "work/l", type: "2", target: "../../beside" }),
      tarEntry({ name: "work/l/", type: "5" }),
      tarEntry({ name: "work/l/host", content: "x" }),
    ],
    "a hard link out": [work, tarEntry({ name: "work/h", type: "1", target: "../beside/host" })],
    "a hard link to what is there already": [
      work,
      tarEntry({ name: "work/h", type: "1", target: "changes/etc/passwd" }),
    ],
    "a hard link to a link": [
      work,
      tarEntry({ name: "work/g", type: "2", target: "/etc/passwd" }),
      tarEntry({ name: "work/h", type: "1", target: "work/g" }),
    ],
    "a character device": [work, tarEntry({ name: "work/d", type: "3", major: 1, minor: 3 })],
    "a block device": [work, tarEntry({ name: "work/d", type: "4", major: 7, minor: 0 })],
    "a whiteout": [work, tarEntry({ name: "changes/etc", type: "3" })],
    "a pipe": [work, tarEntry({ name: "work/p", type: "6" })],
    "a setuid file": [work, tarEntry({ name: "work/s", content: "x", mode: 0o4755 })],
    "a setgid file": [work, tarEntry({ name: "work/s", content: "x", mode: 0o2755 })],
    "the same twice": [work, file, file],
    "names out of order": [work, tarEntry({ name: "work/b", content: "b" }), file],
    "a directory that comes again": [work, tarEntry({ name: "changes/a/", type: "5" }), work],
    "what every cell is given": [
      work,
      tarEntry({ name: "changes/etc/", type: "5" }),
      tarEntry({ name: "changes/etc/machine-id", content: "x" }),
    ],
    "a mount point": [work, tarEntry({ name: "changes/proc/", type: "5" })],
    "an attribute of the overlay": [work, pax(record("SCHILY.xattr.trusted.overlay.redirect", "/etc"), file)],
    "an attribute of security": [work, pax(record("SCHILY.xattr.security.capability", "x"), file)],
    "a NUL in a path": [work, pax(record("path", "work/a\0b"), file)],
    "a path that only the attributes say": [work, pax(record("path", "work/../../beside/host"), file)],
    "a size that is negative": [work, pax(record("size", "-1"), file)],
    "a size that is huge": [work, pax(record("size", "99999999999999999"), file)],
    "an owner that no computer has": [work, pax(record("uid", "4294967295"), file)],
    "attributes that lie about their length": [work, pax("99 path=work/x\n", file)],
    "a kind that is unknown": [work, tarEntry({ name: "work/k", type: "L", content: "x" })],
    "a link with content": [work, tarEntry({ name: "work/l", type: "2", target: "x", content: "x" })],
  };
  for (const [what, entries] of Object.entries(hostile))
    it(`refuses ${what}`, async () => {
      const { refused } = await take(packed(entries));
      assert.equal(refused?.code, "archive_refused", JSON.stringify(refused));
    });

  it("refuses what is not whole", async () => {
    const entries = [work, file];
    const refusals: Readonly<Record<string, Buffer>> = {
      "a wrong checksum": packed(entries, { checksum: "0".repeat(64) }),
      "no checksum": packed(entries, { without: "checksum" }),
      "no manifest": packed(entries, { without: "manifest" }),
      "no list of what is removed": packed(entries, { without: "removed" }),
      "more behind its checksum": packed(entries, { behind: file }),
      "bytes behind its end": packed(entries, {
        behind: Buffer.concat([Buffer.alloc(1024), Buffer.from("x")]),
      }),
      "a removal outside": packed(entries, { removed: "-../beside/host\0" }),
      "a removal of a disk": packed(entries, { removed: "-work\0" }),
      "a removal that is cut off": packed(entries, { removed: "-etc/old" }),
      "a removal of another kind": packed(entries, { removed: "?etc/old\0" }),
      "another version": packed(entries, { manifest: { version: 2 } }),
      "another format": packed(entries, { manifest: { format: "other" } }),
      "an archive's purpose": packed(entries, { manifest: { purpose: "archive" } }),
    };
    for (const [what, bytes] of Object.entries(refusals))
      assert.equal((await take(bytes)).refused?.code, "archive_refused", what);
    const { refused } = await take(packed(entries), { mostEntries: 1 });
    assert.equal(refused?.code, "too_large");
  });

  it("removes nothing behind a link", async () => {
    const { done } = await take(packed([work], { removed: "-bin/a\0=bin\0" }));
    assert.ok(done);
    assert.ok(existsSync(join(root, "usr/bin/a")));
  });
});

const packed = (
  entries: readonly Uint8Array[],
  options: {
    readonly removed?: string;
    readonly checksum?: string;
    readonly without?: string;
    readonly behind?: Uint8Array;
    readonly manifest?: Readonly<Record<string, unknown>>;
  } = {},
): Buffer => {
  const manifest = { format: formatName, version: 1, purpose: "export", entries: 1, bytes: 1, left_out: 0 };
  const own = [
    { key: "manifest", name: "manifest.json", content: JSON.stringify({ ...manifest, ...options.manifest }) },
    { key: "definitions", name: "definitions.json", content: "{}" },
    { key: "removed", name: "removed", content: options.removed ?? "" },
  ].filter(({ key }) => key !== options.without);
  const before = Buffer.concat([...own.map(tarEntry), ...entries]);
  const sha256 = options.checksum ?? createHash("sha256").update(before).digest("hex");
  const checksum = tarEntry({ name: "checksum.json", content: JSON.stringify({ sha256 }) });
  return zstdCompressSync(
    Buffer.concat([
      before,
      ...(options.without === "checksum" ? [] : [checksum]),
      options.behind ?? Buffer.alloc(0),
      Buffer.alloc(1024),
    ]),
  );
};
