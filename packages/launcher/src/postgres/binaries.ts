import { readdir } from "node:fs/promises";
import { join } from "node:path";

const root = "/usr/lib/postgresql";

/** Directory of the newest server binaries on the host, or of exactly `major`. Throws when there are none. */
export const findPostgresBinaries = async (
  major?: number,
): Promise<{ readonly directory: string; readonly major: number }> => {
  const found = (await readdir(root).catch(() => []))
    .map(Number)
    .filter((version) => Number.isInteger(version) && (major === undefined || version === major))
    .sort((a, b) => b - a)[0];
  if (found === undefined) {
    throw new Error(
      major === undefined
        ? "No Postgres server is installed. Run `holdfast up` as root: it installs Debian's `postgresql`."
        : `The database was made by Postgres ${major}, whose binaries are gone. Install \`postgresql-${major}\`.`,
    );
  }
  return { directory: join(root, String(found), "bin"), major: found };
};
