import type { Path } from "./paths.ts";

/**
 * What stands below a computer's root and is not its own: mount points, and what every start of a cell writes anew (its identity). Neither
 * compared nor packed, and refused in what comes from elsewhere.
 */
const notItsOwn: ReadonlySet<Path> = new Set([
  "proc",
  "sys",
  "dev",
  "trees",
  ".holdfast",
  "etc/hostname",
  "etc/hosts",
  "etc/machine-id",
  "etc/resolv.conf",
]);

/** Records and output of processes: they stay with a computer, and mean nothing to another. */
const agentState: Path = "var/lib/holdfast";

/** `path`: below the root, without a slash before it; `work` is a disk of its own. */
export const isLeftOut = (path: Path, purpose: "archive" | "export"): boolean =>
  path === "work" || notItsOwn.has(path) || (purpose === "export" && path === agentState);

/** Nothing is cleared away there: an agent that runs has it open. */
export const isKept = (path: Path): boolean => isLeftOut(path, "export");

export const isInKept = (path: Path): boolean =>
  path.split("/").some((_, index, parts) => isKept(parts.slice(0, index + 1).join("/")));
