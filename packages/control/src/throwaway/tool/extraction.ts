import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { Refusal } from "./refusal.ts";
import { endMark } from "./tar-writer.ts";

const saidBytesMost = 16 * 1024;

/** GNU tar, which puts in place what it is given: it knows of holes and attributes, which Node does not. */
export class Extraction {
  readonly #tar: ChildProcessByStdio<Writable, null, Readable>;
  readonly #ended: Promise<number | null>;
  #said = "";

  constructor(root: string) {
    this.#tar = spawn("tar", options, {
      cwd: root,
      env: { PATH: process.env["PATH"], LC_ALL: "C.UTF-8" },
      stdio: ["pipe", "ignore", "pipe"],
    });
    this.#ended = once(this.#tar, "close").then(([code]: unknown[]) =>
      typeof code === "number" ? code : null,
    );
    // What it says is looked at when it has ended.
    this.#ended.catch(() => {});
    this.#tar.stdin.on("error", () => {});
    this.#tar.stderr.on("data", (piece: Buffer) => {
      if (this.#said.length < saidBytesMost) this.#said += piece.toString("utf8");
    });
  }

  /** Resolves when there is room for more. */
  async write(piece: Buffer): Promise<void> {
    if (this.#tar.stdin.destroyed || this.#tar.stdin.writableEnded) return this.#fail();
    if (this.#tar.stdin.write(piece)) return;
    await Promise.race([once(this.#tar.stdin, "drain"), this.#ended]).catch(() => {});
    if (this.#tar.stdin.destroyed || this.#tar.exitCode !== null) return this.#fail();
  }

  /** Resolves when everything is in place. */
  async finish(): Promise<void> {
    this.#tar.stdin.end(endMark);
    if ((await this.#ended) !== 0) return this.#fail();
  }

  end(): void {
    this.#tar.kill("SIGKILL");
  }

  async #fail(): Promise<never> {
    const code = await this.#ended;
    if (/No space left on device|Disk quota exceeded/.test(this.#said))
      throw new Refusal("disk_full", "what is in it does not fit on the disk");
    throw new Error(`tar ended with ${code}: ${this.#said}`);
  }
}

const options = [
  "--extract",
  "--file=-",
  "--numeric-owner",
  "--same-owner",
  "--preserve-permissions",
  "--xattrs",
  "--xattrs-include=user.*",
  "--acls",
  // Of names and hard links; where a link points to is left as it is.
  "--transform=s,^changes/,,S",
];
