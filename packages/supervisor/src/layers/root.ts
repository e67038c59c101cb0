import { makeDirectory } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import type { Bundles } from "../cells/bundle.ts";
import type { CellHelper } from "../cells/helper.ts";
import type { Images } from "../images/index.ts";
import type { Btrfs } from "../volumes/btrfs.ts";
import { makeTrial, removeTrial } from "./trial-volume.ts";
import type { Layer } from "./index.ts";

export interface RootLayerOptions {
  readonly places: Places;
  readonly btrfs: Btrfs;
  readonly images: Images;
  readonly image: string;
  readonly helper: CellHelper;
  readonly bundles: Bundles;
  readonly agent: string;
  readonly trial: string;
  readonly trialId: string;
  readonly firstId: number;
  readonly idCount: number;
}

/** An overlay over ID-mapped mounts that is really writable, and whose files belong to 0 on disk. */
export const rootLayer = (options: RootLayerOptions): Layer => ({
  name: "root",
  remedy:
    "A kernel 6.1 or newer with user namespaces, overlayfs and ID-mapped btrfs mounts is needed; see `sysctl user.max_user_namespaces`.",
  prove: async () => {
    const { places, btrfs, trialId, firstId, idCount } = options;
    const image = await options.images.find(options.image);
    const volume = `${places.trials}/root-${options.trial}`;
    await makeDirectory(places.trials, 0o700);
    await makeTrial(volume, btrfs);
    try {
      const plan = { computerId: trialId, firstId, idCount, legacyControllers: [], resolver: "" };
      const bundle = await options.bundles.make(plan);
      const root = { bundle, image: image.path, volume, agent: options.agent, firstId, idCount };
      const { ownerOnDisk } = await options.helper.probe(root);
      if (ownerOnDisk !== 0)
        throw new Error(`a file made by id ${firstId} belongs to ${ownerOnDisk} on disk`);
      return "user namespace, ID-mapped mounts, overlay written through";
    } finally {
      await options.bundles.remove(trialId);
      await removeTrial(volume, btrfs);
    }
  },
});
