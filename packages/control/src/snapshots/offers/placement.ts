import { HoldfastError, limits } from "@holdfast/contract";
import type { Agent } from "../../domain/agents.ts";
import type { ManifestEntry } from "../../domain/trees.ts";
import { deleteAll, isMissing } from "../../projects/index.ts";
import { leadsOf, stagingOf } from "./paths.ts";

type Kind = "file" | "directory" | "link" | "other";

/**
 * The files of one offer on their way into the parent, all by its own agent. They wait in `new`, verified, on the same disk; each goes to its
 * place by a rename, and what was there goes to `old` by one before. Every step is found done when it is made again, so what a crash cuts off is
 * finished from where it was; what cannot be finished is taken back.
 */
export class Placement {
  readonly #agent: Agent;
  readonly #staging: string;
  readonly #paths: readonly string[];
  readonly #entries: readonly ManifestEntry[];
  /** Directories that were made here and now. */
  readonly #made: string[] = [];

  constructor(agent: Agent, offerId: string, paths: readonly string[], entries: readonly ManifestEntry[]) {
    this.#agent = agent;
    this.#staging = stagingOf(offerId);
    this.#paths = paths;
    this.#entries = entries;
  }

  /** Where the files wait: below it each has its whole path. */
  get waiting(): string {
    return `${this.#staging}/new`;
  }

  /** Leaves nothing of it, nor of an earlier try. */
  async clear(signal?: AbortSignal): Promise<void> {
    await deleteAll(this.#agent, this.#staging, signal);
  }

  async receive(files: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    await this.clear(signal);
    await this.#agent.plain("files.mkdir", { path: this.#staging, mode: 0o700 });
    await this.#agent.plain("files.mkdir", { path: `${this.#staging}/old` });
    await this.#agent.upload(
      "tar.import",
      { path: this.waiting, limit_bytes: limits.offerBytes, limit_entries: limits.archiveEntries },
      files,
      { signal, waitMs: limits.throwawayMs },
    );
  }

  /** Throws `wrong_state` where an offered path leads through a link by now: it would end up elsewhere than was shown. */
  async refuseDetours(): Promise<void> {
    for (const lead of leadsOf(this.#paths)) {
      const kind = await this.#kindAt(lead);
      if (kind !== undefined && kind !== "directory")
        throw new HoldfastError(
          "wrong_state",
          `${lead} is a ${kind} on the parent, and offered is what is in it`,
          {
            state: "not_a_directory",
            path: lead,
          },
        );
    }
  }

  /** May be made again, after it was cut off anywhere. */
  async place(): Promise<void> {
    for (const lead of leadsOf(this.#paths)) await this.#makeDirectory(lead, 0o755);
    for (const [index, entry] of this.#entries.entries()) {
      if (entry.kind === "directory") {
        const kind = await this.#kindAt(entry.path);
        if (kind !== undefined && kind !== "directory") await this.#putAway(entry.path, index);
        await this.#makeDirectory(entry.path, entry.mode);
      } else if ((await this.#kindAt(this.#waitingAt(entry.path))) !== undefined) {
        if ((await this.#kindAt(entry.path)) !== undefined) await this.#putAway(entry.path, index);
        await this.#move(this.#waitingAt(entry.path), entry.path);
      }
    }
  }

  /** As it was before, the last first. May be made again. */
  async takeBack(): Promise<void> {
    for (const [index, entry] of [...this.#entries.entries()].toReversed()) {
      const isOut = (await this.#kindAt(this.#waitingAt(entry.path))) === undefined;
      const isThere = entry.kind !== "directory" && isOut && (await this.#kindAt(entry.path)) !== undefined;
      if (isThere) {
        await this.#agent.plain("files.mkdir", {
          path: parentOf(this.#waitingAt(entry.path)),
          parents: true,
        });
        await this.#move(entry.path, this.#waitingAt(entry.path));
      }
      if (entry.kind === "directory") await this.#deleteMade(entry.path);
      if ((await this.#kindAt(this.#oldAt(index))) !== undefined)
        await this.#move(this.#oldAt(index), entry.path);
    }
    for (const lead of leadsOf(this.#paths).toReversed()) await this.#deleteMade(lead);
  }

  async #putAway(path: string, index: number): Promise<void> {
    // Something may have come to the place again since it was put away.
    if ((await this.#kindAt(this.#oldAt(index))) !== undefined)
      await deleteAll(this.#agent, this.#oldAt(index));
    await this.#move(path, this.#oldAt(index));
  }

  async #makeDirectory(path: string, mode: number): Promise<void> {
    if ((await this.#kindAt(path)) !== undefined) return;
    await this.#agent.plain("files.mkdir", { path, mode });
    this.#made.push(path);
  }

  /** Only when it is empty: what somebody has put there since stays. */
  async #deleteMade(path: string): Promise<void> {
    if (!this.#made.includes(path)) return;
    await this.#agent.plain("files.delete", { path }).catch((error: unknown) => {
      if (!(error instanceof HoldfastError && error.code === "directory_not_empty")) throw error;
    });
  }

  async #kindAt(path: string): Promise<Kind | undefined> {
    try {
      const { kind } = await this.#agent.plain("files.stat", { path, follow: false });
      return kind === "file" || kind === "directory" || kind === "link" ? kind : "other";
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #move(from: string, to: string): Promise<void> {
    await this.#agent.plain("files.move", { from, to, overwrite: false }, { waitMs: limits.projectFilesMs });
  }

  #waitingAt(path: string): string {
    return `${this.waiting}${path}`;
  }

  #oldAt(index: number): string {
    return `${this.#staging}/old/${index}`;
  }
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
