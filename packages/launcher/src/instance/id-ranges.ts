import { readFile } from "node:fs/promises";

/** Ids from `base` on, `count` of them. */
export interface IdRange {
  readonly base: number;
  readonly count: number;
}

export const overlaps = (a: IdRange, b: IdRange): boolean =>
  a.base < b.base + b.count && b.base < a.base + a.count;

/** Ids that somebody else has: subordinate ranges and users of the host. */
export const readTakenRanges = async (): Promise<readonly IdRange[]> => {
  const [subuid, subgid, passwd, group] = await Promise.all(
    ["/etc/subuid", "/etc/subgid", "/etc/passwd", "/etc/group"].map((path) =>
      readFile(path, "utf8").catch(() => ""),
    ),
  );
  return [
    ...parseSubordinate(subuid ?? ""),
    ...parseSubordinate(subgid ?? ""),
    ...parseSingle(passwd ?? ""),
    ...parseSingle(group ?? ""),
  ];
};

/** Lines of `/etc/subuid`: `name:first:count`. */
export const parseSubordinate = (text: string): readonly IdRange[] =>
  text
    .split("\n")
    .map((line) => line.split(":"))
    .filter((fields) => fields.length === 3)
    .map(([, base, count]) => ({ base: Number(base), count: Number(count) }))
    .filter(({ base, count }) => Number.isSafeInteger(base) && Number.isSafeInteger(count) && count > 0);

const parseSingle = (text: string): readonly IdRange[] =>
  text
    .split("\n")
    .map((line) => Number(line.split(":")[2]))
    .filter((id) => Number.isSafeInteger(id) && id > 0)
    .map((id) => ({ base: id, count: 1 }));
