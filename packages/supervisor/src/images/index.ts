import { HoldfastError } from "@holdfast/contract";
import { exists } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import type { Btrfs } from "../volumes/btrfs.ts";

/** Images are read-only subvolumes that set-up made; the supervisor only looks them up. */
export interface Images {
  /** Throws `computer_failed` when the image is not on this host or not read-only. */
  find(digest: string): Promise<{ readonly digest: string; readonly path: string }>;
}

export const createImages = (options: { readonly places: Places; readonly btrfs: Btrfs }): Images => {
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
  };
};

const refuse = (digest: string, reason: string, what: string): HoldfastError =>
  new HoldfastError("computer_failed", `the image ${digest} ${what}`, { reason, image: digest });
