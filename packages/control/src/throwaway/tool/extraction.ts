import { once } from "node:events";
import { type GnuTar, startTar } from "./gnu-tar.ts";
import { Refusal } from "./refusal.ts";
import { endMark } from "./tar-writer.ts";

const options: readonly string[] = [
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

/** Puts in place what it is given, which has been judged before. */
export class Extraction {
  readonly #tar: GnuTar;

  constructor(root: string) {
    this.#tar = startTar(root, options);
    this.#tar.child.stdout.resume();
  }

  /** Resolves when there is room for more. */
  async write(piece: Buffer): Promise<void> {
    const { stdin } = this.#tar.child;
    if (stdin.destroyed) return this.#fail();
    if (stdin.write(piece)) return;
    await Promise.race([once(stdin, "drain").catch(() => {}), this.#tar.ended]);
    if (stdin.destroyed) return this.#fail();
  }

  /** Resolves when everything is in place. */
  async finish(): Promise<void> {
    this.#tar.child.stdin.end(endMark);
    if ((await this.#tar.ended) !== 0) return this.#fail();
  }

  end(): void {
    this.#tar.child.kill("SIGKILL");
  }

  async #fail(): Promise<never> {
    const code = await this.#tar.ended;
    const said = this.#tar.said();
    if (/No space left on device|Disk quota exceeded/.test(said))
      throw new Refusal("disk_full", "what is in it does not fit on the disk");
    throw new Error(`tar ended with ${code}: ${said}`);
  }
}
