import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { HoldfastError, limits } from "@holdfast/contract";
import { python, run } from "../support/computer.ts";
import { tarEntry, tarOf } from "../support/tar.ts";
import { placeCanary, transferWhileSwapping } from "./swap.ts";
import { hangMs } from "../support/until.ts";
import { useComputer } from "../support/use.ts";

const { assistant, computer } = await useComputer();
const { path: canaryPath, content: canary } = await placeCanary();

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: { code?: string }) => error.code ?? "no code",
  );

const download = async (path: string): Promise<string> => {
  const { stream } = await assistant.client.files.download({ computer, path });
  return new Response(stream).text();
};

test("73: a link to a file of the host leads to what the cell has there, or nowhere", async () => {
  await run(
    assistant,
    computer,
    `ln -sfn ${canaryPath} /work/a; ln -sfn ../../../../../../../..${canaryPath} /work/b; ln -sfn /proc/1/root${canaryPath} /work/c; ln -sfn /var/tmp /work/d; ln -sfn /etc/hostname /work/e`,
  );
  for (const path of [
    "/work/a",
    "/work/b",
    "/work/c",
    `/work/d/${canaryPath.slice(9)}`,
    canaryPath,
    `/work/../../../../../..${canaryPath}`,
  ]) {
    for (const code of await Promise.all([
      codeOf(download(path)),
      codeOf(assistant.client.files.read({ computer, path })),
    ])) {
      assert.match(code, /^(file_not_found|file_permission|invalid_input)$/, path);
    }
  }
  assert.equal(await download("/work/e"), (await run(assistant, computer, "cat /etc/hostname")).stdout);
  await codeOf(assistant.client.files.write({ computer, path: "/work/a", content: "overwritten" }));
  await codeOf(assistant.client.files.write({ computer, path: "/work/b", content: "overwritten" }));
  assert.equal(await readFile(canaryPath, "utf8"), canary);
});

test("74, 75: a link or a directory swapped thousands of times a second leaks nothing and writes nothing outside", async (context) => {
  const { tries, flipsPerSecond } = await transferWhileSwapping(
    assistant,
    computer,
    { path: canaryPath, content: canary },
    8000,
  );
  context.diagnostic(`${tries} rounds of transfers, ${Math.round(flipsPerSecond)} exchanges a second`);
  assert.ok(flipsPerSecond > 1000, `${flipsPerSecond} exchanges a second`);
  assert.ok(tries > 5, String(tries));
});

test("76: hostile archives are refused and leave nothing; a good one is whole", async () => {
  const link = (name: string, target: string, type: string): Uint8Array => tarEntry({ name, type, target });
  const hostile: Readonly<Record<string, readonly Uint8Array[]>> = {
    "dot dot": [tarEntry({ name: "../escape", content: "x" })],
    "dot dot inside": [tarEntry({ name: "a/../../escape", content: "x" })],
    absolute: [tarEntry({ name: "/escape", content: "x" })],
    "link, then a file through it": [
      link("out", "/var/tmp", "2"),
      tarEntry({ name: "out/escape", content: "x" }),
    ],
    "link, then a file over it": [link("out", "/var/tmp/x", "2"), tarEntry({ name: "out", content: "x" })],
    "hard link out": [link("hard", "/etc/passwd", "1")],
    "hard link with dots": [link("hard", "../../etc/passwd", "1")],
    "character device": [tarEntry({ name: "null", type: "3", major: 1, minor: 3 })],
    "block device": [tarEntry({ name: "disk", type: "4", major: 254, minor: 0 })],
    FIFO: [tarEntry({ name: "pipe", type: "6" })],
    setuid: [tarEntry({ name: "suid", content: "x", mode: 0o4755 })],
    "NUL in a PAX path": [
      tarEntry({ name: "pax", type: "x", content: "20 path=a\0../escape\n" }),
      tarEntry({ name: "a", content: "x" }),
    ],
    "negative PAX size": [
      tarEntry({ name: "pax", type: "x", content: "11 size=-1\n" }),
      tarEntry({ name: "a", content: "x" }),
    ],
    "PAX size beyond everything": [
      tarEntry({ name: "pax", type: "x", content: "28 size=9223372036854775807\n" }),
      tarEntry({ name: "a", content: "x" }),
    ],
    "size beyond the archive": [tarEntry({ name: "huge", content: "x", size: 0o77777777777 })],
    "xattrs of the overlay": [
      tarEntry({ name: "pax", type: "x", content: "41 SCHILY.xattr.trusted.overlay.opaque=y\n" }),
      tarEntry({ name: "a", content: "x" }),
    ],
    "sparse old GNU": [tarEntry({ name: "sparse", type: "S", content: "x" })],
    "cut short": [tarEntry({ name: "good", content: "x".repeat(5000) }).subarray(0, 1000)],
  };
  for (const [what, entries] of Object.entries(hostile)) {
    const archive =
      what === "cut short"
        ? Buffer.concat(entries)
        : tarOf(tarEntry({ name: "first", content: "first" }), ...entries);
    for (const body of [archive, gzipSync(archive)]) {
      const path = `/work/import-${randomBytes(4).toString("hex")}`;
      await assistant.client.files.mkdir({ computer, path });
      const code = await codeOf(assistant.client.archives.import({ computer, path }, body));
      assert.match(code, /^(archive_refused|invalid_input|too_large)$/, what);
      const left = await run(
        assistant,
        computer,
        `ls -A ${path}; ls -A /work | grep -c escape; ls /escape /var/tmp/escape 2>/dev/null`,
      );
      assert.equal(left.stdout, "0\n", what);
      await assistant.client.files.delete({ computer, path, recursive: true });
    }
  }
  await assistant.client.files.mkdir({ computer, path: "/work/twins" });
  const into = { computer, path: "/work/twins" };
  const twins = tarOf(
    tarEntry({ name: "\u00fc.txt", content: "one" }),
    tarEntry({ name: "u\u0308.txt", content: "two" }),
  );
  assert.equal(await codeOf(assistant.client.archives.import(into, twins)), "archive_refused");
  assert.equal((await run(assistant, computer, "ls -A /work/twins")).stdout, "");
  const good = tarOf(
    tarEntry({ name: "\u00fc.txt", content: "one" }),
    tarEntry({ name: "a%2Fb \u00fc.txt", content: "two" }),
  );
  assert.equal((await assistant.client.archives.import(into, good)).entries, 2);
  assert.equal((await run(assistant, computer, "cat /work/twins/*")).stdout, "twoone");
  // A link is brought as a link, never followed by who unpacks; what it names is the cell's own.
  await assistant.client.archives.import(
    { computer, path: "/work/twins" },
    tarOf(link("name", "../../etc/hostname", "2"), link("out", canaryPath, "2")),
  );
  const kept = await run(assistant, computer, "cd /work/twins && readlink name out");
  assert.equal(kept.stdout, `../../etc/hostname\n${canaryPath}\n`);
  assert.equal(await download("/work/twins/name"), await download("/etc/hostname"));
  assert.notEqual(await download("/work/twins/out").catch(() => "nothing there"), canary);
});

test("78: nothing that is planted in a cell runs on the host", async () => {
  const marker = `/var/tmp/holdfast-ran-${randomBytes(6).toString("hex")}`;
  const script = `#!/bin/sh\ntouch ${marker}\nexit 0\n`;
  for (const name of ["gzip", "gunzip", "zstd", "xz", "tar", "git", "btrfs", "sh", "ldd"]) {
    await assistant.client.files.write({
      computer,
      path: `/usr/local/bin/${name}`,
      content: script,
      mode: "0755",
    });
  }
  await run(
    assistant,
    computer,
    `rm -f /usr/local/bin/sh; mkdir -p /work/repo/.git/hooks; printf '[core]\\nfsmonitor = "touch ${marker}"\\nsshCommand = "touch ${marker}"\\n' > /work/repo/.git/config; cp /usr/local/bin/git /work/repo/.git/hooks/post-checkout`,
  );
  await assistant.client.files.mkdir({ computer, path: "/work/unpacked" });
  await assistant.client.archives.import(
    { computer, path: "/work/unpacked" },
    gzipSync(tarOf(tarEntry({ name: "a", content: "a" }))),
  );
  const { stream } = await assistant.client.archives.export({ computer, path: "/work" });
  await new Response(stream).arrayBuffer();
  for (const step of ["sleep", "wake", "stop", "wake"] as const)
    await assistant.client.computers[step]({ computer });
  assert.ok(!existsSync(marker));
  // In the cell itself the marker is its own business: only the host must not have run it.
  await python(assistant, computer, "print('still works')");
});

test("80: what is no regular file, or too large, is refused at once as a download", async (context) => {
  await run(
    assistant,
    computer,
    "mkfifo /work/p; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/work/s\")'; truncate -s 1T /work/sparse",
  );
  let tookMs = 0;
  const timed = async <T>(work: Promise<T>): Promise<T> => {
    const began = performance.now();
    return work.finally(() => (tookMs = Math.max(tookMs, performance.now() - began)));
  };
  for (const path of ["/work/p", "/work/s", "/dev/zero", "/dev/null", "/work", "/proc/kmsg"]) {
    assert.match(await timed(codeOf(download(path))), /^(file_kind|file_permission|file_not_found)$/, path);
    assert.match(
      await codeOf(assistant.client.files.read({ computer, path })),
      /^(file_kind|file_permission|file_not_found)$/,
      path,
    );
  }
  const sparse = { computer, path: "/work/sparse" };
  for (const asked of [{}, { offset: 1000 }, { length: limits.downloadBytes + 1 }]) {
    const refused = await timed(
      assistant.client.files.download({ ...sparse, ...asked }).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    assert.ok(refused instanceof HoldfastError, `${JSON.stringify(asked)} was answered`);
    assert.equal(refused.code, "too_large");
    assert.deepEqual(refused.details, { limit: limits.downloadBytes, size_bytes: 2 ** 40 });
    assert.match(refused.message, /in parts.*`offset`.*`length`/);
  }
  context.diagnostic(`each was refused within ${Math.round(tookMs)} ms`);
  assert.ok(tookMs < hangMs, `${tookMs} ms`);
  // In parts it can be had, the last one without a length.
  for (const part of [{ offset: 2 ** 39, length: 1000 }, { offset: 2 ** 40 - 1000 }]) {
    const { stream } = await assistant.client.files.download({ ...sparse, ...part });
    assert.equal((await new Response(stream).arrayBuffer()).byteLength, 1000);
  }
  // Sparse stays sparse: reading has not filled it.
  assert.equal((await run(assistant, computer, "du -k /work/sparse | cut -f1")).stdout, "0\n");
});

test("80: a file that grows while it is read ends where it ended when it was opened", async () => {
  const grower = await assistant.client.processes.start({
    computer,
    command:
      "head -c 1000000 /dev/zero > /work/grows; while :; do head -c 65536 /dev/zero >> /work/grows; done",
    timeout_ms: 20_000,
  });
  await run(assistant, computer, "until [ -s /work/grows ]; do sleep 0.05; done");
  const { stream, sizeBytes } = await assistant.client.files.download({ computer, path: "/work/grows" });
  const read = (await new Response(stream).arrayBuffer()).byteLength;
  await assistant.client.processes.signal({ computer, process: grower.id, signal: "KILL" });
  assert.equal(read, sizeBytes);
});
