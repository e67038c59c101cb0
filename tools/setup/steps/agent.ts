import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { cacheDirectory, command, plainEnvironment, tryCommand, withLock } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";
import { proxies } from "./packages.ts";

const target = "x86_64-unknown-linux-gnu";
const oldestCompiler = [1, 85] as const;

/** Whether Debian's compiler has to be installed: the agent of these sources is not built yet and no compiler is new enough. */
export const needsCompiler = async (source: string): Promise<boolean> =>
  !(await exists(await binaryPath(source))) && !(await hasCompiler());

/** Builds the agent unless one of the same sources is in the cache; its path. */
export const ensureAgent = async (
  source: string,
  note: (text: string) => void,
): Promise<StepResult<string>> => {
  const path = await binaryPath(source);
  const detail = path.split("/").slice(-2, -1).join("").slice(0, 12);
  if (await exists(path)) return { outcome: "skipped", detail, value: path };
  return withLock(join(cacheDirectory, "agent.lock"), async () => {
    if (await exists(path)) return { outcome: "skipped", detail, value: path };
    const build = join(cacheDirectory, "agent", "build");
    await command(["cargo", "build", "--release", "--locked", "--target", target], {
      directory: join(source, "native/agent"),
      // The user's own cargo and its configuration, wherever they are.
      environment: { ...userEnvironment(), ...proxies(), CARGO_TARGET_DIR: build },
      onLine: note,
    });
    const directory = join(path, "..");
    await mkdir(directory, { recursive: true, mode: 0o755 });
    await copyFile(join(build, target, "release/holdfast-agent"), `${path}.new`);
    await chmod(`${path}.new`, 0o755);
    await rename(`${path}.new`, path);
    const { size } = await stat(path);
    return { outcome: "done", detail: `${detail}, ${(size / 1e6).toFixed(1)} MB`, value: path };
  });
};

const binaryPath = async (source: string): Promise<string> =>
  join(cacheDirectory, "agent", await digestOfSources(join(source, "native/agent")), "holdfast-agent");

const digestOfSources = async (directory: string): Promise<string> => {
  const hash = createHash("sha256").update(`${target}\0`);
  const sources = await readdir(join(directory, "src"), { recursive: true, withFileTypes: true });
  const files = [
    ...["Cargo.toml", "Cargo.lock", ".cargo/config.toml"].map((name) => join(directory, name)),
    ...sources.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)),
  ];
  for (const file of files.sort())
    hash
      .update(`${file.slice(directory.length)}\0`)
      .update(await readFile(file))
      .update("\0");
  return hash.digest("hex");
};

const hasCompiler = async (): Promise<boolean> => {
  const version = await tryCommand(["rustc", "--version"], { environment: userEnvironment() }).catch(
    () => undefined,
  );
  const [, major = "0", minor = "0"] = /^rustc (\d+)\.(\d+)/.exec(version?.stdout ?? "") ?? [];
  const cargo = await tryCommand(["cargo", "--version"], { environment: userEnvironment() }).catch(
    () => undefined,
  );
  const isNewEnough =
    Number(major) > oldestCompiler[0] ||
    (Number(major) === oldestCompiler[0] && Number(minor) >= oldestCompiler[1]);
  return isNewEnough && cargo?.status === 0;
};

const userEnvironment = (): Record<string, string> => ({
  ...plainEnvironment,
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined &&
        /^(PATH|HOME|CARGO_|RUSTUP_|RUST_|SSL_CERT_)/.test(entry[0]) &&
        entry[0] !== "CARGO_TARGET_DIR",
    ),
  ),
});

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
