import type { LayerView } from "@holdfast/contract";

/** One thing without which cells would be weaker than promised. */
export interface Layer {
  readonly name: string;
  /** What to do when it cannot be proven. */
  readonly remedy: string;
  /** Tries the real thing and says what was seen; throws with why it is not so. Leaves nothing behind. */
  prove(): Promise<string>;
}

/** Proves each in turn. A layer whose proof throws is not proven, and those after it are still tried: a person wants the whole list. */
export const proveLayers = async (layers: readonly Layer[]): Promise<LayerView[]> => {
  const views: LayerView[] = [];
  for (const { name, remedy, prove } of layers) {
    try {
      views.push({ name, proven: true, detail: await prove(), remedy: "" });
    } catch (error) {
      views.push({
        name,
        proven: false,
        detail: error instanceof Error ? error.message : String(error),
        remedy,
      });
    }
  }
  return views;
};
