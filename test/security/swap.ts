import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { after } from "node:test";
import { run } from "../support/computer.ts";
import type { Assistant } from "../support/instance.ts";
import { tarEntry, tarOf } from "../support/tar.ts";

/** A file of the host's that a cell must never see or change, under a name no cell has. Call at the top of a file. */
export const placeCanary = async (): Promise<{ readonly path: string; readonly content: string }> => {
  const path = `/var/tmp/holdfast-canary-${randomBytes(6).toString("hex")}`;
  const content = randomBytes(24).toString("hex");
  await writeFile(path, content, { mode: 0o666 });
  after(() => rm(path, { force: true }));
  return { path, content };
};

export interface Swapped {
  /** Rounds of transfers, each of several at the same time. */
  readonly tries: number;
  readonly flipsPerSecond: number;
}

/**
 * Reads, writes, uploads, exports and unpacks for `ms` below names that are exchanged for links to the host's canary as fast as the kernel
 * can: a file for a link, and a directory for a link. Throws at the first leak or write outside.
 */
export const transferWhileSwapping = async (
  assistant: Assistant,
  computer: string,
  canary: { readonly path: string; readonly content: string },
  ms: number,
): Promise<Swapped> => {
  const { client } = assistant;
  const name = basename(canary.path);
  await client.processes.exec({ computer, command: "rm -rf /work/swap; mkdir -p /work/swap/real" });
  await client.processes.exec({
    computer,
    command: "ln -sfn /var/tmp /work/swap/link; echo 0 > /work/flips",
  });
  const flipper = await client.processes.start({ computer, argv: ["python3", "-c", flip(canary.path)] });
  const begin = performance.now();
  const archive = tarOf(tarEntry({ name, content: "overwritten" }));
  const read = async (path: string): Promise<void> => {
    const { stream } = await client.files.download({ computer, path });
    assert.ok(!(await new Response(stream).text()).includes(canary.content), `leaked by ${path}`);
  };
  const exported = async (): Promise<void> => {
    const { stream } = await client.archives.export({ computer, path: "/work/swap" });
    const bytes = Buffer.from(await new Response(stream).arrayBuffer());
    assert.ok(!bytes.includes(canary.content), "leaked by an export");
  };
  let tries = 0;
  let served = 0;
  for (; performance.now() - begin < ms; tries += 1) {
    const outcomes = await Promise.allSettled([
      read("/work/swap/l1"),
      read(`/work/swap/real/${name}`),
      client.files.upload({ computer, path: `/work/swap/real/${name}`, make_parents: false }, "overwritten"),
      client.files.write({ computer, path: "/work/swap/l2", content: "inside" }),
      ...(tries % 8 === 0
        ? [exported(), client.archives.import({ computer, path: "/work/swap/real" }, archive)]
        : []),
    ]);
    // What is in motion may be refused; what must not happen is a leak.
    for (const outcome of outcomes)
      if (outcome.status === "fulfilled") served += 1;
      else if (outcome.reason instanceof assert.AssertionError)
        throw new Error(`at try ${tries}`, { cause: outcome.reason });
    assert.equal(await readFile(canary.path, "utf8"), canary.content, `written outside at try ${tries}`);
  }
  const tookMs = performance.now() - begin;
  await client.processes.signal({ computer, process: flipper.id, signal: "KILL" });
  assert.ok(served > tries, `${served} transfers in ${tries} rounds were served: the others show nothing`);
  const flips = Number((await run(assistant, computer, "cat /work/flips")).stdout);
  return { tries, flipsPerSecond: flips / (tookMs / 1000) };
};

const flip = (canary: string): string => `
import ctypes, os
libc = ctypes.CDLL(None)
os.symlink("${canary}", "/work/swap/l1")
open("/work/swap/l2", "w").write("inside")
count = turns = 0
while True:
    count += libc.renameat2(-100, b"/work/swap/real", -100, b"/work/swap/link", 2) == 0
    count += libc.renameat2(-100, b"/work/swap/l1", -100, b"/work/swap/l2", 2) == 0
    turns += 1
    if turns % 256 == 0:
        with open("/work/flips.new", "w") as file: file.write(str(count))
        os.rename("/work/flips.new", "/work/flips")
`;
