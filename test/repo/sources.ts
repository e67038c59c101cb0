import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

/** Files git tracks or would track, relative to the root; in a tree without git, all but what is made by tools. */
export const tracked = (...endings: readonly string[]): string[] =>
  (existsSync(join(root, ".git")) ? filesOfGit() : filesOnDisk()).filter(
    (file) => endings.length === 0 || endings.some((ending) => file.endsWith(ending)),
  );

const filesOfGit = (): readonly string[] =>
  execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
    .split("\0")
    .filter((file) => file !== "" && existsSync(join(root, file)));

const filesOnDisk = (): readonly string[] =>
  globSync("**/*", {
    cwd: root,
    withFileTypes: true,
    exclude: ["**/node_modules", "**/target", "bench-results"],
  })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));

export const read = (file: string): string => readFileSync(join(root, file), "utf8");
