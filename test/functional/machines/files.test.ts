import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { useRest } from "../../support/rest.ts";
import { createHash, randomBytes } from "node:crypto";

describe("files", () => {
  const root = "/work/files";
  const rest = useRest();
  const { ask } = rest;
  before(async () => {
    const created = await ask("POST", "/v1/computers", { name: "box" });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    await send("POST", "/mkdir", { path: "." });
  });

  const query = (path: string, more = ""): string => `?path=${encodeURIComponent(`${root}/${path}`)}${more}`;
  const files = (verb: string, path: string, more = "") =>
    ask("GET", `/v1/computers/box/files${verb}${query(path, more)}`);
  const send = (method: string, verb: string, body: Readonly<Record<string, unknown>>) =>
    ask(method, `/v1/computers/box/files${verb}`, {
      ...body,
      path: `${root}/${String(body["path"])}`,
    });
  const raw = (method: string, path: string, body?: Uint8Array | ReadableStream) =>
    fetch(`${rest.url}/v1/computers/box${path}`, {
      method,
      headers: {
        authorization: `Bearer ${rest.secret}`,
        ...(body ? { "content-type": "application/octet-stream" } : {}),
      },
      ...(body ? { body, duplex: "half" } : {}),
    });

  test("write, read in parts, edit, stat, move, list and delete", async () => {
    const text = "first line\nzweite Zeile ü\n日本語\n".repeat(20);
    const written = await send("PUT", "/content", { path: "a/b%2Fc ü.txt", content: text });
    assert.equal(written.status, 200, JSON.stringify(written.body));
    assert.equal(written.body["size_bytes"], Buffer.byteLength(text));
    let shown = "";
    for (let offset: number | null = 0; offset !== null; ) {
      const part = await files("/content", "a/b%2Fc ü.txt", `&offset=${offset}&max_bytes=17`);
      assert.equal(part.status, 200, JSON.stringify(part.body));
      shown += String(part.body["content"]);
      offset = part.body["next_offset"] as number | null;
    }
    assert.equal(shown, text);
    const refused = await send("POST", "/edit", {
      path: "a/b%2Fc ü.txt",
      edits: [{ old: "first line", new: "x" }],
    });
    assert.equal(refused.status, 409, JSON.stringify(refused.body));
    const edited = await send("POST", "/edit", {
      path: "a/b%2Fc ü.txt",
      edits: [{ old: "first line", new: "erste Zeile", all: true }],
    });
    assert.equal(edited.body["replaced"], 20, JSON.stringify(edited.body));
    const stale = await send("PUT", "/content", {
      path: "a/b%2Fc ü.txt",
      content: "x",
      if_match: String(written.body["version"]),
    });
    assert.equal(stale.status, 412, JSON.stringify(stale.body));
    const moved = await send("POST", "/move", { path: "a/b%2Fc ü.txt", to: `${root}/a/d.txt` });
    assert.equal(moved.status, 200, JSON.stringify(moved.body));
    assert.equal((await files("/stat", "a/b%2Fc ü.txt")).status, 404);
    for (const name of ["e", "f", "g"]) await send("PUT", "/content", { path: `a/${name}`, content: "" });
    const names: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await files("", "a", `&limit=2${cursor ? `&cursor=${cursor}` : ""}`);
      names.push(...(page.body["entries"] as { path: string }[]).map(({ path }) => path.slice(root.length)));
      cursor = page.body["next_cursor"] as string | null;
    }
    assert.deepEqual(names, ["/a/d.txt", "/a/e", "/a/f", "/a/g"]);
    assert.equal((await ask("DELETE", `/v1/computers/box/files${query("a")}`)).status, 409);
    const gone = await ask("DELETE", `/v1/computers/box/files${query("a", "&recursive=true")}`);
    assert.equal(gone.body["deleted"], 5, JSON.stringify(gone.body));
  });

  test("bytes go up and come down as they are, also in part", async () => {
    const bytes = randomBytes(5 * 1024 * 1024 + 3);
    const up = await raw("PUT", `/files/bytes${query("random.bin")}`, bytes);
    assert.equal(up.status, 200, await up.clone().text());
    const down = await raw("GET", `/files/bytes${query("random.bin")}`);
    assert.equal(down.headers.get("content-length"), String(bytes.length));
    const back = Buffer.from(await down.arrayBuffer());
    assert.equal(sha(back), sha(bytes));
    const part = await raw("GET", `/files/bytes${query("random.bin", "&offset=1000&length=500")}`);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(1000, 1500));
  });

  test("what is not a regular file is refused at once", async () => {
    await ask("POST", "/v1/computers/box/exec", { argv: ["mkfifo", `${root}/fifo`], cwd: "/tmp" });
    assert.equal((await files("/content", "fifo")).status, 409);
    assert.equal((await files("/content", ".")).status, 409);
    assert.equal((await files("/content", "missing")).status, 404);
  });

  test("a directory goes out as an archive and comes back elsewhere; a hostile one leaves nothing", async () => {
    await send("PUT", "/content", { path: "tree/one", content: "1" });
    await send("PUT", "/content", { path: "tree/deep/two", content: "22" });
    const out = await raw("GET", `/archive${query("tree")}`);
    assert.equal(out.status, 200);
    const archive = Buffer.from(await out.arrayBuffer());
    await send("POST", "/mkdir", { path: "copy" });
    const back = await raw("PUT", `/archive${query("copy")}`, archive);
    assert.equal(back.status, 200, await back.clone().text());
    assert.equal((await files("/content", "copy/deep/two")).body["content"], "22");
    await send("POST", "/mkdir", { path: "evil" });
    const hostile = await raw("PUT", `/archive${query("evil")}`, tarOf("../escaped", "x"));
    assert.equal(hostile.status, 422, await hostile.clone().text());
    assert.deepEqual((await files("", "evil")).body["entries"], []);
    assert.equal((await files("/stat", "escaped")).status, 404);
  });

  test("changes are told as they happen", async () => {
    await send("POST", "/mkdir", { path: "watched" });
    const response = await raw("GET", `/files/watch${query("watched")}`);
    assert.equal(response.status, 200);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await send("PUT", "/content", { path: "watched/new", content: "x" });
    let seen = "";
    while (!seen.includes("watched/new")) {
      const { value, done } = await reader.read();
      assert.ok(!done);
      seen += Buffer.from(value).toString();
    }
    assert.match(seen, /event: change/);
    await reader.cancel();
  });
});

const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** One regular file in the oldest form of tar, with any name. */
const tarOf = (name: string, content: string): Buffer => {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write("0", 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(512);
  body.write(content);
  return Buffer.concat([header, body, Buffer.alloc(1024)]);
};
