import { execFile } from "node:child_process";
import { readdir, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

export const title = "Room on the disk";

const run = promisify(execFile);
/** From here on it asks for attention. */
const fullFrom = 0.85;

/** How full the disk is, and what takes most of it beside this project. */
export const look = async ({ folder, signal }) => {
  const { blocks, bavail, bsize } = await statfs(folder);
  const [total, free] = [blocks * bsize, bavail * bsize];
  const beside = dirname(folder);
  const names = (await readdir(beside)).slice(0, 200);
  const sizes = [];
  for (const name of names) {
    const { stdout } = await run("du", ["-sk", "--", join(beside, name)], { signal });
    sizes.push([name, Number(stdout.split("\t")[0]) * 1024]);
  }
  sizes.sort((one, other) => other[1] - one[1]);
  const used = 1 - free / total;
  return {
    summary: `${size(free)} of ${size(total)} are free.`,
    attention: used >= fullFrom,
    table: { head: ["Folder", "Size"], rows: sizes.slice(0, 8).map(([name, bytes]) => [name, size(bytes)]) },
  };
};

const size = (bytes) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
};
