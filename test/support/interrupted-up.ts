import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { hostDirectory } from "@holdfast/launcher";
import { root } from "../../tools/node24.mjs";
import { onInterruption } from "./interruption.ts";

const run = promisify(execFile);
const name = `half-${process.pid.toString(36)}`;
const data = `/var/lib/holdfast-${name}`;
const argv = (verb: string, ...rest: readonly string[]): string[] => [
  join(root, "bin/holdfast.mjs"),
  verb,
  "--instance",
  name,
  "--data",
  data,
  ...rest,
];
const environment = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  XDG_CONFIG_HOME: "/run/holdfast-test-home",
};

/** A host verb about the instance; what it said on standard output. */
export const holdfast = async (verb: string, ...rest: readonly string[]): Promise<string> =>
  (await run(process.execPath, argv(verb, ...rest), { env: environment })).stdout;

/** After the tests of a file that kills set-ups: nothing of the last one stays. */
export const cleanUpAfterwards = (): void => {
  const takeDown = (): Promise<string> => holdfast("down", "--delete-data", name);
  const forget = onInterruption(takeDown);
  after(async () => {
    await takeDown();
    forget();
  });
};

/** Kills a set-up `delayMs` after it has said that `step` is done; whether it came that far. */
export const killedAfter = async (step: string, delayMs: number): Promise<boolean> => {
  const up = spawn(process.execPath, argv("up", "--bare", "--pool-size", "2G"), {
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(up, "exit");
  let seen = "";
  let reached = false;
  up.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    seen += chunk;
    if (reached || !new RegExp(`^  \\w+ +${step}\\b`, "m").test(seen)) return;
    reached = true;
    setTimeout(() => up.kill("SIGKILL"), delayMs);
  });
  await ended;
  return reached;
};

/** Whatever carries the instance's name, or the short id it had, on this host. */
const traces = async (shortId: string | undefined): Promise<string[]> => {
  const [mounts, loops, processes, namespaces] = await Promise.all([
    readFile("/proc/self/mountinfo", "utf8"),
    run("losetup", ["--list", "--noheadings", "--output", "NAME,BACK-FILE"]),
    run("ps", ["-eo", "pid,args"]),
    run("ip", ["netns", "list"]),
  ]);
  const named = (text: string): string[] => text.split("\n").filter((line) => line.includes(name));
  const cgroups = ["", "unified/", "memory/", "pids/", "cpu/"].map((at) => `/sys/fs/cgroup/${at}holdfast-`);
  const found = [
    ...named(mounts),
    ...named(loops.stdout),
    ...named(processes.stdout),
    ...named(await readFile(join(hostDirectory, "instances.json"), "utf8")),
  ];
  for (const path of [data, `/run/holdfast/${name}`, ...(shortId ? cgroups.map((at) => at + shortId) : [])])
    if (await stat(path).catch(() => undefined)) found.push(path);
  if (shortId && namespaces.stdout.includes(`hf${shortId}-`)) found.push(`namespace of ${shortId}`);
  return found;
};

const shortIdOf = async (): Promise<string | undefined> => {
  const registry = JSON.parse(await readFile(join(hostDirectory, "instances.json"), "utf8")) as {
    readonly instances: Readonly<Record<string, { readonly short_id: string } | undefined>>;
  };
  return registry.instances[name]?.short_id;
};

/** Set-up is killed `delayMs` after `step`; then `down --delete-data` leaves no trace of the instance. */
export const testDownAfterKill = (step: string, delayMs: number): void => {
  test(`\`down --delete-data\` removes an instance whose set-up was killed ${delayMs} ms after "${step}"`, async () => {
    assert.ok(await killedAfter(step, delayMs), `set-up came to ${step}`);
    const shortId = await shortIdOf();
    await holdfast("down", "--delete-data", name);
    assert.deepEqual(await traces(shortId), []);
  });
};
