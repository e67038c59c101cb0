import { limits } from "@holdfast/contract";
import type { Agent } from "../domain/agents.ts";
import type { Imported, Manifest, ManifestEntry, Trees, TreeSource, TreeView } from "../domain/trees.ts";
import { packAnswer, unpackAnswer } from "./answers.ts";
import { tarOfEntries } from "./content.ts";
import { exported, importedFrom } from "./files.ts";
import type { Requests } from "./requests.ts";
import type { Job, Throwaways } from "./throwaways.ts";
import { askManifest, CellTreeView } from "./view.ts";

/** What a packed computer is called in its archive's place. */
const packedFile = "/trees/archive/computer.tar.zst";

/** Work on whole trees, each job in a cell of its own. */
export class CellTrees implements Trees {
  readonly #throwaways: Throwaways;
  readonly #requests: Requests;

  constructor(parts: { readonly throwaways: Throwaways; readonly requests: Requests }) {
    this.#throwaways = parts.throwaways;
    this.#requests = parts.requests;
  }

  look<T>(
    sources: { readonly a: TreeSource; readonly b?: TreeSource },
    use: (view: TreeView) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#throwaways.run(
      jobOf("looking at files", sources),
      (throwaway) => use(new CellTreeView(throwaway.agent, this.#requests, throwaway.signal)),
      signal,
    );
  }

  async *tar(
    source: TreeSource,
    entries: readonly ManifestEntry[],
    signal: AbortSignal,
    below?: string,
  ): AsyncGenerator<Uint8Array> {
    const throwaway = await this.#throwaways.open(jobOf("copying files", { a: source }), signal);
    try {
      yield* tarOfEntries(throwaway.agent, "a", entries, throwaway.signal, below);
    } finally {
      await throwaway.close();
    }
  }

  async *export(source: TreeSource, definitions: unknown, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const throwaway = await this.#throwaways.open(jobOf("exporting", { a: source }), signal);
    try {
      yield* exported(this.#requests, throwaway, JSON.stringify(definitions));
    } finally {
      await throwaway.close();
    }
  }

  import(agent: Agent, file: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Imported> {
    return importedFrom(this.#requests, agent, file, signal);
  }

  pack(
    computerId: string,
    signal: AbortSignal,
  ): Promise<{ readonly digest: string; readonly bytes: number }> {
    const job: Job = {
      purpose: "archiving",
      trees: [
        { name: "a", source: { volume_of: computerId } },
        { name: "archive", source: { archive_of: computerId } },
      ],
    };
    return this.#throwaways.run(
      job,
      async (throwaway) => {
        const { digest, bytes } = await this.#requests.ask(
          throwaway.agent,
          {
            kind: "pack",
            tree: "/trees/a",
            purpose: "archive",
            definitions: null,
            to: { file: packedFile },
          },
          packAnswer,
          throwaway.signal,
        );
        return { digest, bytes };
      },
      signal,
    );
  }

  async unpack(agent: Agent, digest: string, signal: AbortSignal): Promise<void> {
    await this.#requests.ask(
      agent,
      {
        kind: "unpack",
        purpose: "archive",
        file: packedFile,
        digest,
        root: "/",
        mostEntries: limits.archiveEntries,
      },
      unpackAnswer,
      signal,
    );
  }

  manifestIn(agent: Agent, root: string, paths: readonly string[], signal: AbortSignal): Promise<Manifest> {
    return askManifest(this.#requests, agent, root, paths, signal);
  }
}

const jobOf = (purpose: string, sources: { readonly a: TreeSource; readonly b?: TreeSource }): Job => ({
  purpose,
  trees: [
    { name: "a", source: sourceOf(sources.a) },
    ...(sources.b ? [{ name: "b" as const, source: sourceOf(sources.b) }] : []),
  ],
});

const sourceOf = (source: TreeSource): { snapshot_id: string } | { volume_of: string } =>
  "snapshotId" in source ? { snapshot_id: source.snapshotId } : { volume_of: source.volumeOf };
