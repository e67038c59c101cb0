import type { LayerView } from "@holdfast/contract";

/** One thing without which cells would be weaker than promised. */
export interface Layer {
  readonly name: string;
  /** What to do when it cannot be proven. */
  readonly remedy: string;
  /** Names of layers before it whose trials must be over: it builds on what they leave, or uses the same names. */
  readonly after?: readonly string[];
  /** Tries the real thing and says what was seen; throws with why it is not so. Leaves nothing behind. */
  prove(): Promise<string>;
}

/**
 * Proves them side by side, since a supervisor that was killed is waited for. A layer whose proof throws is not proven, and the others are
 * still tried: a person wants the whole list. Throws when a layer is to come after one that does not stand before it.
 */
export const proveLayers = async (layers: readonly Layer[]): Promise<LayerView[]> => {
  for (const [index, { name, after = [] }] of layers.entries())
    for (const earlier of after)
      if (!layers.slice(0, index).some((layer) => layer.name === earlier))
        throw new Error(`the layer ${name} is to come after ${earlier}, which does not stand before it`);
  const proofs = new Map<string, Promise<LayerView>>();
  for (const layer of layers) {
    const before = (layer.after ?? []).flatMap((name) => proofs.get(name) ?? []);
    proofs.set(
      layer.name,
      Promise.all(before).then(() => proveLayer(layer)),
    );
  }
  return Promise.all(proofs.values());
};

const proveLayer = async ({ name, remedy, prove }: Layer): Promise<LayerView> => {
  try {
    return { name, proven: true, detail: await prove(), remedy: "" };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { name, proven: false, detail, remedy };
  }
};
