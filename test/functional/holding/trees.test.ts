import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, afterEach, test } from "node:test";
import { limits } from "@holdfast/contract";
import { createIds, createLogger, systemClock } from "@holdfast/kit";
import { registerNode } from "../../../packages/control/src/store/owners.ts";
import { openStore } from "../../../packages/control/src/store/open.ts";
import { insertThrowaway, listThrowaways } from "../../../packages/control/src/store/throwaways.ts";
import { createThrowawayTrees } from "../../../packages/control/src/throwaway/index.ts";
import { useCellHost } from "../../support/cell-host.ts";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const host = await useCellHost();
const postgres = await usePostgres();
const database = await postgres.createDatabase();
const logger = createLogger({ program: "test", now: Date.now });
const store = openStore({ url: database.url, logger });
// The database may be one that outlives this file: an open connection keeps it from ending.
after(() => store.close());
const newId = createIds(systemClock);
const nodeId = newId("node");
await registerNode(store.db, { id: nodeId, name: "trees", nowMs: 1 });

const make = () =>
  createThrowawayTrees({
    db: store.db,
    supervisor: host.control,
    agents: host.agents,
    ids: newId,
    clock: systemClock,
    logger,
    crashPoint: () => {},
    nodeId,
  });
const { trees } = make();
const signal = new AbortController().signal;
const size = "small" as const;
const call = host.control.call;

/** No throwaway outlives its job, nor does its row. */
afterEach(async () => {
  assert.deepEqual(await listThrowaways(store.db, nodeId, 10), []);
  const { volumes } = await call("volume.list", {});
  assert.deepEqual(
    volumes.filter(({ computer_id }) => !mine.has(computer_id)),
    [],
  );
  for (const { computer_id } of volumes) await call("volume.destroy", { computer_id });
  mine.clear();
});

const mine = new Set<string>();
const newComputer = async (): Promise<string> => {
  const id = await host.newComputer();
  mine.add(id);
  return id;
};
const shell = async (id: string, line: string): Promise<string> => {
  const { code, stdout, stderr } = await host.exec(id, ["/bin/bash", "-ec", line], { waitMs: 50_000 });
  assert.equal(code, 0, `${line}: ${stderr}`);
  return stdout.trim();
};
const python = async (id: string, program: string): Promise<string> => {
  const { code, stdout, stderr } = await host.exec(id, ["python3", "-c", program], { waitMs: 50_000 });
  assert.equal(code, 0, stderr);
  return stdout.trim();
};
const snapshot = async (computer_id: string): Promise<string> => {
  const snapshot_id = newId("snapshot");
  await call("snapshot.create", { computer_id, snapshot_id });
  return snapshot_id;
};

test("two snapshots are compared without waking or trusting their computer", async () => {
  const id = await newComputer();
  await shell(id, "echo one > /work/same; echo two > /work/changed; echo x > /work/gone; mkdir /etc/mine");
  const before = await snapshot(id);
  await shell(
    id,
    "touch /work/same; echo three > /work/changed; rm /work/gone; mkdir /work/new; ln -s /etc/passwd /work/new/link; mkfifo /work/new/pipe; rm /etc/issue; rm -r /usr/share/perl5; mkdir /usr/share/perl5; touch /usr/share/perl5/own",
  );
  const after = await snapshot(id);
  const beganMs = systemClock.monotonic();
  const found = await trees.look(
    { a: { snapshotId: before }, b: { snapshotId: after } },
    (view) => view.diff(),
    signal,
  );
  console.log(`compared in ${Math.round(systemClock.monotonic() - beganMs)} ms`);
  const work = found.differences.filter(({ path }) => !path.startsWith("/usr/share/perl5"));
  assert.deepEqual(
    work.map(({ path, change, kind, sizeBefore, sizeAfter }) => [path, change, kind, sizeBefore, sizeAfter]),
    [
      ["/etc/issue", "removed", "file", work[0]?.sizeBefore ?? 0, null],
      ["/work/changed", "changed", "file", 4, 6],
      ["/work/gone", "removed", "file", 2, null],
      ["/work/new", "added", "directory", null, null],
      ["/work/new/link", "added", "link", null, null],
      ["/work/new/pipe", "added", "other", null, null],
    ],
  );
  const perl = found.differences.filter(({ path }) => path.startsWith("/usr/share/perl5"));
  assert.ok(perl.some(({ path, change }) => path === "/usr/share/perl5/own" && change === "added"));
  assert.ok(perl.some(({ change }) => change === "removed"));
  assert.equal(found.truncated, false);
});

test("what is offered is listed, read and copied from the frozen files, exactly or not at all", async () => {
  const id = await newComputer();
  const long = `${"d".repeat(120)}/${"f".repeat(120)}`;
  await shell(
    id,
    `mkdir -p /work/site/${"d".repeat(120)}; echo hello > /work/site/index.html; chmod 640 /work/site/index.html; head -c 300000 /dev/urandom > /work/site/big; ln -s ../up /work/site/link; echo deep > /work/site/${long}; echo secret > /work/secret`,
  );
  const source = { snapshotId: await snapshot(id) };
  const manifest = await trees.look(
    { a: source },
    async (view) => {
      assert.equal((await view.read("a", "/work/site/index.html", 100))?.toString(), "hello\n");
      assert.equal(await view.read("a", "/work/site/big", 100), undefined);
      assert.equal(await view.read("a", "/work/site/link", 100), undefined);
      return view.manifest("a", ["/work/site"]);
    },
    signal,
  );
  assert.deepEqual(
    manifest.entries.map(({ path }) => path),
    [
      "/work/site",
      "/work/site/big",
      `/work/site/${"d".repeat(120)}`,
      `/work/site/${long}`,
      "/work/site/index.html",
      "/work/site/link",
    ],
  );
  // What is done on the child afterwards changes nothing.
  await shell(id, "echo evil > /work/site/index.html");
  const parent = await newComputer();
  const agent = host.agents.of(parent);
  await agent.plain("files.mkdir", { path: "/work/staging" });
  const limit = { limit_bytes: limits.offerBytes, limit_entries: limits.offerEntries + 1 };
  await agent.upload(
    "tar.import",
    { path: "/work/staging", ...limit },
    trees.tar(source, manifest.entries, signal),
  );
  assert.equal(
    await shell(
      parent,
      `cd /work/staging/work/site; cat index.html ${long}; readlink link; stat -c %a index.html; find /work/staging -name secret`,
    ),
    "hello\ndeep\n../up\n640",
  );
  const copied = await trees.manifestIn(agent, "/work/staging", ["/work/site"], signal);
  assert.equal(copied.digest, manifest.digest);

  const lying = manifest.entries.map((entry) =>
    entry.path.endsWith("big") ? { ...entry, digest: "0".repeat(64) } : entry,
  );
  await agent.plain("files.mkdir", { path: "/work/none" });
  await assert.rejects(
    agent.upload("tar.import", { path: "/work/none", ...limit }, trees.tar(source, lying, signal)),
    { code: "archive_refused" },
  );
  assert.equal(await shell(parent, "ls -A /work/none"), "");
  for (const [what, line] of [
    ["pipe", "mkfifo /work/pipe"],
    ["setuid", "touch /work/setuid; chmod u+s /work/setuid"],
  ] as const) {
    await shell(id, line);
    const offered = { snapshotId: await snapshot(id) };
    await assert.rejects(
      trees.look({ a: offered }, (view) => view.manifest("a", [`/work/${what}`]), signal),
      {
        code: "archive_refused",
        details: {
          entry: `/work/${what}`,
          reason: `it is ${what === "pipe" ? "a fifo" : "setuid or setgid"}`,
        },
      },
    );
  }
});

/** What an archive must bring back: everything. Names and links as they are, in the cell's own words. */
const survey = `
import hashlib, os, stat
LEAVE = {b"/proc", b"/sys", b"/dev", b"/trees", b"/.holdfast", b"/var/lib/holdfast", b"/etc/hostname", b"/etc/hosts", b"/etc/machine-id", b"/etc/resolv.conf", b"/run", b"/tmp"}
seen = {}
def visit(path):
    if path in LEAVE: return
    s = os.lstat(path)
    line = [repr(path), oct(s.st_mode), s.st_uid, s.st_gid]
    if stat.S_ISREG(s.st_mode):
        line += [s.st_size, "sparse" if s.st_blocks * 512 < s.st_size else "", s.st_mtime_ns]
        if s.st_size < 10_000_000: line.append(hashlib.sha256(open(path, "rb").read()).hexdigest())
        line.append(seen.setdefault(s.st_ino, path) if s.st_nlink > 1 else "")
    if stat.S_ISLNK(s.st_mode): line.append(os.readlink(path))
    else: line.append([(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path, follow_symlinks=False)) if n.startswith("user.")])
    print(*line)
    if stat.S_ISDIR(s.st_mode):
        for name in sorted(os.listdir(path)): visit(os.path.join(path, name))
for top in (b"/work", b"/etc", b"/usr/share", b"/opt", b"/root", b"/var", b"/home"): visit(top)
`;

const fill = `
import os, socket
os.chdir("/work")
for name in (b"new\\nline", b"\\xff\\xfe", "ü %2F".encode(), b"-rf *"):
    open(name, "wb").write(name)
os.symlink("loop", "loop"); os.symlink("/etc/passwd", "out")
os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("socket")
open("setuid", "w").close(); os.chmod("setuid", 0o4755)
open("owned", "w").close(); os.chown("owned", 1234, 4321)
open("one", "w").write("linked"); os.link("one", "two")
with open("sparse", "wb") as f: f.truncate(1 << 36); f.seek(1 << 35); f.write(b"middle")
open("attributes", "w").close(); os.setxattr("attributes", "user.note", b"kept\\0too"); os.setxattr("/work", "user.top", b"t")
deep = "/work"
for level in range(15):
    deep += "/" + "d" * 200
    os.mkdir(deep)
open("/etc/passwd", "a").write("me:x:1000:1000::/home:/bin/sh\\n")
os.unlink("/etc/issue")
import shutil
shutil.rmtree("/usr/share/perl5"); os.mkdir("/usr/share/perl5"); open("/usr/share/perl5/own", "w").close()
shutil.rmtree("/usr/share/zoneinfo", ignore_errors=True)
os.rmdir("/home") if os.path.isdir("/home") else None; os.symlink("work", "/home")
open("/root/file", "w").write("root's")
`;

test("an archived computer comes back as it was", async () => {
  const id = await newComputer();
  await python(id, fill);
  const before = await python(id, survey);
  await call("cell.stop", { computer_id: id });
  await call("archive.open", { computer_id: id });
  const beganMs = systemClock.monotonic();
  const { digest, bytes } = await trees.pack(id, signal);
  console.log(`packed to ${bytes} bytes in ${Math.round(systemClock.monotonic() - beganMs)} ms`);
  assert.ok(bytes < 10_000_000, `holes were packed: ${bytes}`);
  await call("archive.seal", { computer_id: id });
  assert.deepEqual(
    (await call("volume.list", {})).volumes.map(({ archived }) => archived),
    [true],
  );
  const unpack = async (expected: string): Promise<void> => {
    await call("archive.unpack", { computer_id: id });
    const wanted = [{ name: "archive" as const, source: { archive_of: id } }];
    await call("cell.start", { computer_id: id, size, lease_ms: 600_000, trees: wanted });
    try {
      await trees.unpack(host.agents.of(id), expected, signal);
    } finally {
      await call("cell.stop", { computer_id: id });
    }
  };
  await assert.rejects(unpack("0".repeat(64)), {
    code: "computer_failed",
    details: { reason: "archive_damaged" },
  });
  await unpack(digest);
  await call("archive.unpacked", { computer_id: id });
  await call("cell.start", { computer_id: id, size, lease_ms: 600_000 });
  const leave = (text: string): string[] =>
    text.split("\n").filter((line) => !line.includes("b'/work/socket'"));
  assert.deepEqual(leave(await python(id, survey)), leave(before));
});

test("an exported snapshot is imported whole, or refused", async () => {
  const id = await newComputer();
  await python(id, fill);
  await shell(id, "mkdir /work/big; for i in 1 2 3 4; do head -c 9M /dev/urandom > /work/big/$i; done");
  const definitions = { services: [{ name: "web" }], note: "ü" };
  const pieces: Buffer[] = [];
  for await (const piece of trees.export({ snapshotId: await snapshot(id) }, definitions, signal))
    pieces.push(Buffer.from(piece));
  const file = Buffer.concat(pieces);
  console.log(`exported ${file.length} bytes, sha256 ${createHash("sha256").update(file).digest("hex")}`);
  async function* pieceByPiece(bytes: Buffer): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += 60_000) yield bytes.subarray(at, at + 60_000);
  }
  const other = await newComputer();
  const imported = await trees.import(host.agents.of(other), pieceByPiece(file), signal);
  assert.deepEqual(imported.definitions, definitions);
  const plain = (text: string): string[] =>
    text
      .split("\n")
      .filter((line) => !/b'\/work\/(socket|fifo)'/.test(line))
      .map((line) => line.replace("b'/work/setuid' 0o104755", "b'/work/setuid' 0o100755"));
  assert.deepEqual(plain(await python(other, survey)), plain(await python(id, survey)));
  assert.notEqual(await shell(other, "cat /etc/machine-id"), await shell(id, "cat /etc/machine-id"));
  assert.equal(await shell(other, "ls /dev/shm"), "");

  const middle = Buffer.from(file);
  middle[middle.length >> 1] = (middle[middle.length >> 1] ?? 0) ^ 1;
  for (const [what, bytes] of [
    ["a flipped bit", middle],
    ["an end that is missing", file.subarray(0, file.length - 100)],
    ["no archive at all", Buffer.from("hello ".repeat(1000))],
    ["nothing", Buffer.alloc(0)],
  ] as const) {
    const refused = await newComputer();
    await assert.rejects(
      trees.import(host.agents.of(refused), pieceByPiece(bytes), signal),
      { code: "archive_refused" },
      what,
    );
  }
});

test("whoever goes away, or ends in between, leaves no throwaway", async () => {
  const id = await newComputer();
  await shell(id, "head -c 60M /dev/urandom > /work/big");
  const source = { snapshotId: await snapshot(id) };
  for await (const piece of trees.export(source, {}, signal)) {
    assert.ok(piece.length > 0);
    break;
  }
  const gone = new AbortController();
  await assert.rejects(
    trees.look(
      { a: source },
      (view) => {
        gone.abort(new Error("gone"));
        return view.diff();
      },
      gone.signal,
    ),
    /gone/,
  );
  // A control that was killed has left a row, and a cell that it names.
  const left = newId("computer");
  await insertThrowaway(store.db, { computerId: left, nodeId, purpose: "lost", nowMs: 1 });
  await call("volume.create", { computer_id: left, size });
  await call("cell.start", { computer_id: left, size, lease_ms: 600_000 });
  const next = make();
  next.start();
  await until("the leftover is gone", async () => (await listThrowaways(store.db, nodeId, 10)).length === 0);
  await next.stop();
  await assert.rejects(
    next.trees.look({ a: source }, async () => {}, signal),
    { code: "unavailable" },
  );
});
