import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, readFile, rename, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { cacheDirectory, command, exists, plainEnvironment, tryCommand, withLock } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";
import { proxies } from "./packages.ts";

const target = "x86_64-unknown-linux-gnu";
const oldestCompiler = [1, 85] as const;

/** Whether Debian's compiler has to be installed: the agent of these sources is not built yet and no compiler is new enough. */
export const needsCompiler = async (source: string): Promise<boolean> =>
  !(await exists(await binaryPath(source))) && (await findCompiler()) === undefined;

/** Builds the agent unless one of the same sources is in the cache; its path. */
export const ensureAgent = async (
  source: string,
  note: (text: string) => void,
): Promise<StepResult<string>> => {
  const path = await binaryPath(source);
  const detail = path.split("/").slice(-2, -1).join("").slice(0, 12);
  if (await exists(path)) {
    // What was used last is kept longest; see cache.ts.
    await utimes(join(path, ".."), new Date(), new Date());
    return { outcome: "skipped", detail, value: path };
  }
  return withLock(join(cacheDirectory, "agent.lock"), async () => {
    if (await exists(path)) return { outcome: "skipped", detail, value: path };
    const compiler = await findCompiler();
    if (!compiler) {
      throw new Error(
        "no Rust compiler of 1.85 or newer runs here. Install Debian's `cargo-web` and `rustc-web`.",
      );
    }
    const build = join(cacheDirectory, "agent", "build");
    const cargo = (...words: readonly string[]) =>
      command(["cargo", ...words, "--release", "--locked", "--target", target], {
        directory: join(source, "native/agent"),
        environment: { ...compiler, ...proxies(), CARGO_TARGET_DIR: build },
        onLine: note,
      });
    // Cargo goes by the time of files, and takes what another clone built last for this one's. What it depends on is kept.
    await cargo("clean", "--package", "holdfast-agent");
    await cargo("build");
    if ((await binaryPath(source)) !== path)
      throw new Error("the agent's sources were changed while they were built. Run this again.");
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

/**
 * The environment in which a cargo that is new enough runs: the person's own with their configuration, else Debian's. Both are tried by
 * running them: rustup's stand-ins are there without a compiler behind them.
 */
const findCompiler = async (): Promise<Readonly<Record<string, string>> | undefined> => {
  for (const environment of [personsEnvironment(), debiansEnvironment()]) {
    const run = (program: string) =>
      tryCommand([program, "--version"], { environment }).catch(() => undefined);
    const [rustc, cargo] = [await run("rustc"), await run("cargo")];
    const [, major = "0", minor = "0"] = /^rustc (\d+)\.(\d+)/.exec(rustc?.stdout ?? "") ?? [];
    const [oldestMajor, oldestMinor] = oldestCompiler;
    const isNewEnough =
      Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor);
    if (isNewEnough && cargo?.status === 0) return environment;
  }
  return undefined;
};

const personsEnvironment = (): Readonly<Record<string, string>> => ({
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

const debiansEnvironment = (): Readonly<Record<string, string>> => {
  const { HOME = "/nonexistent" } = process.env;
  const home: Record<string, string> = existsSync(HOME) ? { HOME } : {};
  return { ...plainEnvironment, CARGO_HOME: join(cacheDirectory, "cargo"), ...home };
};
