import assert from "node:assert/strict";
import { test } from "node:test";
import { checkArchive } from "./check-archive.ts";

interface Entry {
  readonly name: string;
  readonly type?: string;
  readonly mode?: number;
  readonly link?: string;
  readonly content?: Buffer;
}

const block = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);

const encode = ({ name, type = "0", mode = 0o644, link = "", content = Buffer.alloc(0) }: Entry): Buffer => {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(link, 157);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, block(content)]);
};

const pax = (key: string, value: string): Entry => {
  const body = ` ${key}=${value}\n`;
  let length = body.length;
  while (String(length).length + body.length !== length) length = String(length).length + body.length;
  return { name: "pax", type: "x", content: Buffer.from(`${length}${body}`) };
};

const check = (
  entries: readonly Entry[],
  options: { readonly chunk?: number; readonly setuid?: string[] } = {},
) => {
  const bytes = Buffer.concat([...entries.map(encode), Buffer.alloc(1024)]);
  const size = options.chunk ?? bytes.length;
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  };
  return checkArchive(chunks(), { setuid: options.setuid ?? [] });
};

const sound: readonly Entry[] = [
  { name: "./", type: "5", mode: 0o755 },
  { name: "./usr/bin/", type: "5", mode: 0o755 },
  { name: "./usr/bin/tool", mode: 0o755, content: Buffer.alloc(1500, 1) },
  { name: "./bin", type: "2", link: "usr/bin" },
  pax("path", `./usr/${"long/".repeat(60)}name`),
  { name: "./usr/cut", content: Buffer.from("x") },
  { name: "./usr/bin/same", type: "1", link: "./usr/bin/tool" },
  { name: "./var/mail/", type: "5", mode: 0o2775 },
];

test("a sound archive passes, however it is cut into chunks", async () => {
  for (const chunk of [1, 100, 511, 512, 513, 4096]) {
    assert.deepEqual(await check(sound, { chunk }), { entries: 7, bytes: 1501 });
  }
});

test("what must not be in an image is refused by name", async () => {
  const refused: readonly (readonly [readonly Entry[], RegExp])[] = [
    [[{ name: "dev/sda", type: "4" }], /a block device .*dev\/sda/],
    [[{ name: "dev/null", type: "3" }], /a character device/],
    [[{ name: "pipe", type: "6" }], /a FIFO/],
    [[{ name: "usr/bin/su", mode: 0o4755 }], /setuid/],
    [[{ name: "usr/bin/wall", mode: 0o2755 }], /setgid/],
    [[{ name: "/etc/passwd" }], /leaves the image/],
    [[{ name: "a/../../etc/passwd" }], /leaves the image/],
    [[pax("path", "../out"), { name: "in" }], /leaves the image/],
    [[{ name: "hard", type: "1", link: "../../etc/shadow" }], /hard link/],
    [[{ name: "out", type: "2", link: "/etc" }, { name: "out/passwd" }], /passes through the link out/],
    [[{ name: "out", type: "2", link: "/etc/passwd" }, { name: "./out" }], /in the place of a link/],
    [[pax("SCHILY.xattr.security.capability", "x"), { name: "ping" }], /security\.capability/],
    [[pax("LIBARCHIVE.xattr.trusted.overlay.opaque", "y"), { name: "d" }], /trusted\.overlay/],
    [[pax("GNU.sparse.name", "../out"), { name: "in" }], /GNU\.sparse\.name/],
    [
      [
        { name: "out", type: "2", link: "/etc" },
        { name: "hard", type: "1", link: "out/shadow" },
      ],
      /hard link/,
    ],
    [[{ name: "s", type: "S" }], /an entry of type/],
    [[{ name: "g", type: "g", content: Buffer.from("x") }], /global extended header/],
  ];
  for (const [entries, expected] of refused) await assert.rejects(check([...sound, ...entries]), expected);
});

test("a setuid file that the recipe lists passes", async () => {
  assert.equal((await check([{ name: "./bin/su", mode: 0o4755 }], { setuid: ["bin/su"] })).entries, 1);
});

test("an archive that is cut short or damaged is refused", async () => {
  const bytes = Buffer.concat(sound.map(encode));
  const cut = async function* (): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, 2000);
  };
  await assert.rejects(checkArchive(cut(), { setuid: [] }), /cut short/);
  const damaged = async function* (): AsyncGenerator<Buffer> {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(0x41, 3);
    yield copy;
  };
  await assert.rejects(checkArchive(damaged(), { setuid: [] }), /checksum/);
  await assert.rejects(check([]), /empty/);
});
