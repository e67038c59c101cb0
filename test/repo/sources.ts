import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

/** Files git tracks or would track, relative to the root. */
export const tracked = (...endings: readonly string[]): string[] =>
  execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
    .split("\0")
    .filter((file) => file !== "" && existsSync(join(root, file)))
    .filter((file) => endings.length === 0 || endings.some((ending) => file.endsWith(ending)));

export const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Module specifiers a source imports or re-exports, static and dynamic. */
export const importsOf = (file: string): string[] =>
  [
    ...read(file).matchAll(
      /(?:^|\n)(?:import|export)\s[^"';]*?\bfrom\s*"([^"\n]+)"|(?:^|\n)import\s+"([^"\n]+)"|\bimport\(\s*"([^"\n]+)"/g,
    ),
  ].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? "");
