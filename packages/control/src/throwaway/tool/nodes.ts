import {
  type BigIntStats,
  closeSync,
  constants,
  type Dir,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
} from "node:fs";
import { bytesOf, type Path, pathBytes, pathOf, shown } from "./paths.ts";
import { errnoOf, Refusal } from "./refusal.ts";

export type Kind = "file" | "directory" | "link" | "fifo" | "socket" | "device";

export interface Node {
  readonly kind: Kind;
  readonly facts: BigIntStats;
}

/** No computer has so many files in one directory: its quota ends before. */
const namesMost = 1_000_000;

/** What stands at a path, never what a link there leads to. Undefined: nothing does. */
export const nodeAt = (path: Path): Node | undefined =>
  ifThere(path, () => {
    const facts = lstatSync(bytesOf(path), { bigint: true });
    return { kind: kindOf(facts), facts };
  });

/** Names in a directory, in the order of their bytes. Where there is no directory there are none, also where a link leads to one. */
export const namesIn = (path: Path): readonly Path[] => {
  const held = ifThere(path, () =>
    openSync(bytesOf(path), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW),
  );
  if (held === undefined) return [];
  try {
    // Node opens directories by their path alone, and would follow a link.
    const directory = opendirSync(`/proc/self/fd/${held}`, { encoding: "latin1", bufferSize: 1024 });
    try {
      return readNames(directory, path).sort();
    } finally {
      directory.closeSync();
    }
  } finally {
    closeSync(held);
  }
};

/** Opens a regular file, whatever has been put in its place meanwhile. Undefined: it is none. The caller closes it. */
export const openFile = (path: Path): number | undefined => {
  const file = ifThere(path, () =>
    openSync(bytesOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK),
  );
  if (file === undefined || fstatSync(file).isFile()) return file;
  closeSync(file);
  return undefined;
};

export const targetOf = (path: Path): Path => pathOf(readlinkSync(bytesOf(path), { encoding: "buffer" }));

export const modeOf = ({ facts }: Node): number => Number(facts.mode & 0o7777n);

const kindOf = (facts: BigIntStats): Kind => {
  if (facts.isFile()) return "file";
  if (facts.isDirectory()) return "directory";
  if (facts.isSymbolicLink()) return "link";
  if (facts.isFIFO()) return "fifo";
  return facts.isSocket() ? "socket" : "device";
};

const readNames = (directory: Dir, path: Path): Path[] => {
  const names: Path[] = [];
  for (let entry = directory.readSync(); entry; entry = directory.readSync()) {
    if (names.length === namesMost)
      throw new Refusal("limit_reached", `a directory with more than ${namesMost} names`, shown(path));
    names.push(entry.name);
  }
  return names;
};

const absent: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"]);

const ifThere = <T>(path: Path, look: () => T): T | undefined => {
  if (path.length > pathBytes)
    throw new Refusal(
      "limit_reached",
      `a path longer than ${pathBytes} bytes`,
      `${shown(path.slice(0, 200))}…`,
    );
  try {
    return look();
  } catch (error) {
    if (absent.has(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
};
