import { HoldfastError } from "@holdfast/contract";
import { sha256 } from "../../lib/digest.ts";
import type { ManifestEntry } from "../../domain/trees.ts";

/**
 * Paths that may be offered, plain and none below another. Throws `invalid_input` for what is not below /work, leads out of it, is a
 * repository, or ours.
 */
export const plainPaths = (asked: readonly string[]): readonly string[] => {
  const plain = asked.map((path, index) => {
    const parts = path.split("/").filter((part) => part !== "" && part !== ".");
    const [first, second] = parts;
    const isOurs = second?.startsWith(ours) === true;
    if (first !== "work" || second === undefined || isOurs || parts.includes("..") || parts.includes(".git"))
      throw new HoldfastError(
        "invalid_input",
        `paths.${index}: ${path} is not a file or directory below /work`,
        {
          issues: [
            { path: ["paths", String(index)], message: "below /work, without `..`, and no repository" },
          ],
        },
      );
    return `/${parts.join("/")}`;
  });
  return [...new Set(plain)]
    .filter((path) => !plain.some((other) => path.startsWith(`${other}/`)))
    .toSorted((one, other) => (one < other ? -1 : 1));
};

/** What begins like this in /work is what an acceptance is made in. */
const ours = ".holdfast-";

/** Where the files of an offer wait on the parent, and what they take the place of. On the same disk as where they go. */
export const stagingOf = (offerId: string): string => `/work/${ours}${offerId}`;

/** Of the manifest as a whole: equal for equal content. Made here, of what was judged here. */
export const digestOf = (entries: readonly ManifestEntry[]): string => {
  const lines = entries.map(({ path, kind, mode, bytes, digest, target }) =>
    JSON.stringify([path, kind, mode, bytes, digest, target]),
  );
  return sha256(lines.join("\n")).toString("hex");
};

/** Each directory above these paths, below /work, the upper ones first. */
export const leadsOf = (paths: readonly string[]): readonly string[] => {
  const leads = new Set<string>();
  for (const path of paths) {
    const parts = path.split("/").slice(1, -1);
    for (let length = 2; length <= parts.length; length += 1)
      leads.add(`/${parts.slice(0, length).join("/")}`);
  }
  return [...leads].toSorted((one, other) => one.length - other.length);
};
