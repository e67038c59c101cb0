import { readFile, statfs, writeFile } from "node:fs/promises";
import process from "node:process";

/** `CGROUP2_SUPER_MAGIC` of linux/magic.h: the v2 hierarchy is at the root only where it is alone. */
const cgroup2 = 0x63677270;

/**
 * What `agent view` printed in a cell, and the stored copy it must equal. There is one copy for each layout of cgroups (`cgroups`: which
 * limits a cell can read there); write a new one with `HOLDFAST_WRITE_GOLDEN=1` on such a host and read the difference before it is
 * committed. `npm run test:host` is a v2 host.
 */
export const compareView = async (
  printed: string,
): Promise<{ readonly seen: unknown; readonly stored: unknown; readonly layout: string }> => {
  const layout = (await statfs("/sys/fs/cgroup")).type === cgroup2 ? "v2" : "hybrid";
  const file = new URL(`../security/cell-view.${layout}.golden.json`, import.meta.url);
  const seen = withoutRange(JSON.parse(printed));
  if (process.env["HOLDFAST_WRITE_GOLDEN"]) await writeFile(file, JSON.stringify(seen, undefined, 2));
  return { seen, stored: JSON.parse(await readFile(file, "utf8")), layout };
};

/** Which range of host ids a cell has differs; that it has one of 65,536 does not. */
const withoutRange = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    (key === "uid_map" || key === "gid_map") && Array.isArray(inner)
      ? inner.map((line: unknown) =>
          Array.isArray(line) ? [line[0], Number(line[1]) > 0 ? "host" : 0, line[2]] : line,
        )
      : inner,
  );
