import type { Trees } from "../domain/trees.ts";
import { Requests } from "./requests.ts";
import { type ThrowawayParts, Throwaways } from "./throwaways.ts";
import { CellTrees } from "./trees.ts";

export interface ThrowawayTrees {
  readonly trees: Trees;
  start(): void;
  /** Whoever works on a tree is told to end. Resolves when every throwaway cell is gone, or left to the next start. */
  stop(): Promise<void>;
}

/** What is done with whole trees of computers, and the cells it is done in. */
export const createThrowawayTrees = (parts: ThrowawayParts): ThrowawayTrees => {
  const throwaways = new Throwaways(parts);
  const trees = new CellTrees({ throwaways, requests: new Requests(parts.ids) });
  return { trees, start: () => throwaways.start(), stop: () => throwaways.stop() };
};
