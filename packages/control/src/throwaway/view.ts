import { HoldfastError, limits } from "@holdfast/contract";
import type { Agent } from "../domain/agents.ts";
import type { Differences, Manifest, ManifestEntry, TreeName, TreeView } from "../domain/trees.ts";
import { diffAnswer, manifestAnswer, manifestOf } from "./answers.ts";
import { isWork, placeIn, readSmall, tarOfEntries } from "./content.ts";
import type { Requests } from "./requests.ts";

/** Two trees, as one throwaway cell is shown them. */
export class CellTreeView implements TreeView {
  readonly #agent: Agent;
  readonly #requests: Requests;
  readonly #signal: AbortSignal;

  constructor(agent: Agent, requests: Requests, signal: AbortSignal) {
    this.#agent = agent;
    this.#requests = requests;
    this.#signal = signal;
  }

  diff(options: Parameters<TreeView["diff"]>[0] = {}): Promise<Differences> {
    return this.#requests.ask(
      this.#agent,
      {
        kind: "diff",
        a: "/trees/a",
        b: "/trees/b",
        path: options.path ?? null,
        after: options.after ?? null,
        limit: options.limit ?? limits.differencePage,
        most: limits.differenceEntries,
      },
      diffAnswer,
      this.#signal,
    );
  }

  async manifest(tree: TreeName, paths: readonly string[]): Promise<Manifest> {
    const other = paths.find((path) => !isWork(path));
    if (other !== undefined)
      throw new HoldfastError("archive_refused", `${other}: it is not below /work`, { entry: other });
    return askManifest(this.#requests, this.#agent, `/trees/${tree}`, paths, this.#signal);
  }

  read(tree: TreeName, path: string, mostBytes: number): Promise<Buffer | undefined> {
    return readSmall(this.#agent, placeIn(tree, path), mostBytes, this.#signal);
  }

  tar(tree: TreeName, entries: readonly ManifestEntry[], below?: string): AsyncIterable<Uint8Array> {
    return tarOfEntries(this.#agent, tree, entries, this.#signal, below);
  }
}

export const askManifest = async (
  requests: Requests,
  agent: Agent,
  root: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Manifest> => {
  const { entries } = await requests.ask(
    agent,
    { kind: "manifest", root, paths, mostEntries: limits.offerEntries, mostBytes: limits.offerBytes },
    manifestAnswer,
    signal,
  );
  return manifestOf(entries, paths);
};
