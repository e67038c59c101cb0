// Runs a script with the Node this repository pins, whatever Node started it (18 or newer).
//
//   node tools/node24.mjs <script> [arguments…]
//
// Other entry points (bin/holdfast.mjs) call `await ensurePinnedNode()` as their first statement. This file
// has no dependencies and stays plain JavaScript, because it runs before anything has been installed.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** The root of the repository, absolute. */
export const root = resolve(fileURLToPath(new URL("..", import.meta.url)));

/** The pinned Node. Exists once the packages are installed. */
export const pinnedNode = join(root, "node_modules/node/bin/node");

/**
 * Makes the rest of the calling program run under the pinned Node: returns at once when it already does, else
 * installs what the lock file asks for, runs the same script with the same arguments under the pinned Node,
 * and ends this process as that one ended. Standard input and output are handed through.
 * Throws when the packages cannot be installed.
 */
export async function ensurePinnedNode(argv = process.argv.slice(1)) {
  ensureInstalled();
  if (process.version === `v${pinnedVersion()}`) return;
  endAs(await run(pinnedNode, [...process.execArgv, ...argv]));
}

/** Installs the packages when they differ from the lock file. Safe to call from several processes at once. */
export function ensureInstalled() {
  if (isInstalled()) return;
  // flock is in util-linux, so on every host we run on; two installs in one tree would break each other.
  const lock = spawnSync(
    "flock",
    [join(root, "package-lock.json"), process.execPath, fileURLToPath(import.meta.url), "--install"],
    { stdio: ["ignore", 2, 2] },
  );
  if (lock.error) install();
  else if (lock.status !== 0) throw new Error(`Installing the packages failed (status ${lock.status}).`);
}

function install() {
  if (isInstalled()) return;
  // A tree that is in use is mended in place: `npm ci` would first delete it under running programs.
  const verb = existsSync(join(root, "node_modules")) ? ["install", "--no-save"] : ["ci"];
  process.stderr.write(
    `Installing the packages of the lock file (npm ${verb[0]}): npm says nothing while it does, for up to a minute …\n`,
  );
  const npm = spawnSync("npm", [...verb, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (npm.error)
    throw new Error(`npm could not be started (${npm.error.message}). Install npm and try again.`);
  if (npm.status !== 0 || !existsSync(pinnedNode)) {
    throw new Error(
      `npm ${verb.join(" ")} failed (status ${npm.status}). Mend what it printed above and try again.`,
    );
  }
}

/** Whether every package the lock file requires is there in its locked version. */
function isInstalled() {
  if (!existsSync(pinnedNode)) return false;
  const wanted = packagesOf("package-lock.json");
  const present = packagesOf("node_modules/.package-lock.json");
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith("node_modules/") || entry.optional || entry.peer) return true;
    const found = present[path];
    return found !== undefined && (entry.link ? found.link === true : found.version === entry.version);
  });
}

function packagesOf(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), "utf8")).packages ?? {};
  } catch {
    return {};
  }
}

function pinnedVersion() {
  return packagesOf("package-lock.json")["node_modules/node"]?.version;
}

/** Starts a program with our standard streams, passes on signals, and resolves to how it ended. */
function run(command, args) {
  const child = spawn(command, args, { stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"]) {
    process.on(signal, () => {
      // A terminal already delivers its own signals to the whole group.
      if (!(process.stdin.isTTY && (signal === "SIGINT" || signal === "SIGQUIT"))) child.kill(signal);
    });
  }
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("exit", (code, signal) => done({ code, signal }));
  });
}

function endAs({ code, signal }) {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Signals that do not end this process (it may be PID 1 of a container) still mean failure.
  process.exit(1);
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  try {
    if (args[0] === "--install") install();
    else if (args.length === 0) throw new Error("Usage: node tools/node24.mjs <script> [arguments…]");
    else {
      ensureInstalled();
      endAs(await run(pinnedNode, args));
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
