/**
 * `npm run test:host`: the users' kind of host, Debian 12's own kernel and systemd with cgroup v2 alone, under QEMU: set-up, doctor,
 * quickstart, install, a real reboot, a power cut. Prints what it saw; the last line is the sum. No figure of time from it means anything.
 *
 * usage: main.ts [--seed n] [--keep]     (root; about an hour; --keep leaves the guest's disk and console log)
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { cacheDirectory } from "@holdfast/launcher";
import { installMissing } from "../../tools/setup/steps/packages.ts";
import { ensureUsers } from "../../tools/setup/steps/users.ts";
import { ensureGuestBase } from "./guest-base.ts";
import { makeDisk } from "./guest-disk.ts";
import { seeded } from "../support/seeded.ts";
import { startMachine } from "./machine.ts";
import { createReport, type Report } from "./report.ts";
import { ceilings, type Context } from "./steps/context.ts";
import { cutPower } from "./steps/power-cut.ts";
import { installUnit, rebootHost } from "./steps/reboot.ts";
import { lookAtHost, lookFromCell, proveHost, setUpHoldfast } from "./steps/set-up.ts";
import { takeDown } from "./steps/take-down.ts";

/** Everything ends within this, or the machine is ended and the rest counts as failed. */
const limitMs = 3 * 60 * 60_000;

/** In this order; each needs the ones before it. */
const steps = [
  lookAtHost,
  setUpHoldfast,
  proveHost,
  lookFromCell,
  installUnit,
  rebootHost,
  cutPower,
  takeDown,
];

const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: { seed: { type: "string" }, keep: { type: "boolean", default: false } },
  });
  if (process.getuid?.() !== 0) {
    process.stderr.write("`npm run test:host` needs root: it builds a guest's disk. Try it with sudo.\n");
    return 77;
  }
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const report = createReport((text) => process.stdout.write(text));
  const disks = join(cacheDirectory, `host-test-run-${process.pid}`);
  const sockets = await mkdtemp(join(tmpdir(), "hf-host-"));
  try {
    await mkdir(disks, { recursive: true });
    await play(report, { disks, sockets, seed });
  } catch (error) {
    await report.check("the run", () => Promise.reject(error as Error));
  } finally {
    if (values.keep) report.note(`kept: ${disks}, ${sockets}`);
    else for (const directory of [disks, sockets]) await rm(directory, { recursive: true, force: true });
  }
  const { passed, failed } = report.end();
  return failed === 0 && passed > 0 ? 0 : 1;
};

const play = async (
  report: Report,
  { disks, sockets, seed }: { readonly disks: string; readonly sockets: string; readonly seed: number },
): Promise<void> => {
  report.section("the guest");
  const note = (): void => undefined;
  const added = await installMissing(["qemu-system-x86", "mmdebstrap", "e2fsprogs", "zstd"], note);
  report.note(added.length === 0 ? "QEMU and mmdebstrap are installed" : `installed ${added.join(", ")}`);
  await ensureUsers();
  const base = await ensureGuestBase(note);
  report.note(`Debian 12 in ${base.disk}`);
  const { disk, commit, uncommitted } = await makeDisk(base, disks, note);
  report.note(`commit ${commit.slice(0, 12)}, seed ${seed}`);
  if (uncommitted > 0) report.note(`${uncommitted} files differ from that commit and are not tested`);

  const machine = await startMachine(base, disk, sockets);
  const context: Context = {
    report,
    machine,
    startAgain: () => startMachine(base, disk, sockets),
    random: seeded(seed),
  };
  const timer = setTimeout(() => void context.machine.cutPower(), limitMs);
  const stop = (): void => void context.machine.cutPower();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  try {
    await machine.hand.boot(ceilings.boot);
    for (const step of steps) await step(context);
  } catch (error) {
    report.note("the end of the guest's console:");
    report.quote(await context.machine.console());
    throw error;
  } finally {
    clearTimeout(timer);
    await context.machine.cutPower();
  }
};

process.exitCode = await main();
// The guest's socket and pipes would keep the process.
process.exit();
