import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const directory = fileURLToPath(new URL("./peers", import.meta.url));

/**
 * The path of a program in `peers/`, which is installed on first use from its own lock file: nobody who only runs Holdfast should
 * download a test suite and an inspector. No install script runs.
 */
export const peer = (packageName: string, bin: string): string => {
  const lock = readFileSync(join(directory, "package-lock.json"), "utf8");
  if (!isInstalled(lock)) {
    // Not `npm ci`: it refuses a lock file without an optional package for Windows that the registry does not have.
    const install = [
      "npm",
      "install",
      "--no-save",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
    ];
    // Test files run side by side: one of them installs, the others wait.
    const script = `cmp -s package-lock.json node_modules/.installed-lock || { ${install.join(" ")} && cp package-lock.json node_modules/.installed-lock; }`;
    const result = spawnSync("flock", ["package-lock.json", "sh", "-c", script], {
      cwd: directory,
      encoding: "utf8",
    });
    if (result.status !== 0) throw new Error(`Installing the peers failed:\n${result.stderr}`);
  }
  return join(directory, "node_modules", packageName, bin);
};

const isInstalled = (lock: string): boolean => {
  const marker = join(directory, "node_modules/.installed-lock");
  return existsSync(marker) && readFileSync(marker, "utf8") === lock;
};
