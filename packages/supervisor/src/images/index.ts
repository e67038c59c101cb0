import { stat } from "node:fs/promises";
import { HoldfastError } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { exists, namesIn } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import type { Btrfs } from "../volumes/btrfs.ts";

/** Images are read-only subvolumes that set-up made; the supervisor looks them up, and removes those that no computer needs any more. */
export interface Images {
  /** Throws `computer_failed` when the image is not on this host or not read-only. */
  find(digest: string): Promise<{ readonly digest: string; readonly path: string }>;
  /** Removes all but those in `needed`. One younger than a day stays: set-up may have made it for a supervisor that is yet to start. */
  removeExcept(needed: ReadonlySet<string>): Promise<void>;
}

const keptMs = 24 * 3_600_000;

export const createImages = (options: {
  readonly places: Pick<Places, "images" | "image">;
  readonly btrfs: Pick<Btrfs, "isReadOnly" | "deleteSubvolumes">;
  readonly clock: Clock;
}): Images => {
  const proven = new Map<string, { readonly digest: string; readonly path: string }>();
  return {
    find: async (digest) => {
      const path = options.places.image(digest);
      const known = proven.get(digest);
      if (known && (await exists(path))) return known;
      if (!(await exists(path))) throw refuse(digest, "image_missing", "is not on this host");
      if (!(await options.btrfs.isReadOnly(path))) throw refuse(digest, "image_writable", "is not read-only");
      const image = { digest, path };
      proven.set(digest, image);
      return image;
    },
    removeExcept: async (needed) => {
      for (const name of await namesIn(options.places.images)) {
        if (!/^[0-9a-f]{64}$/.test(name) || needed.has(name)) continue;
        const path = options.places.image(name);
        // Unlike the time of change, which unpacking sets as the archive says, this one is the host's own.
        const { ctimeMs } = await stat(path);
        if (options.clock.now() - ctimeMs > keptMs) await options.btrfs.deleteSubvolumes([path]);
      }
    },
  };
};

const refuse = (digest: string, reason: string, what: string): HoldfastError =>
  new HoldfastError("computer_failed", `the image ${digest} ${what}`, { reason, image: digest });
