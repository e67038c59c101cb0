import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { plainEnvironment } from "@holdfast/launcher";
import { createHand, type Hand } from "./hand.ts";
import type { GuestBase } from "./guest-base.ts";

/** A guest under QEMU: TCG, so that a host without KVM can run it; slow, and nothing about it is to be timed. */
export interface Machine {
  readonly hand: Hand;
  readonly pid: number;
  /** SIGKILL to QEMU: to the guest, the power is gone. Resolves when the process is. */
  cutPower(): Promise<void>;
  /** The end of what the kernel and systemd said on the serial console. */
  console(lines?: number): Promise<string>;
}

const memory = "4096";
/** An emulated processor does not speculate; the kernel's precautions against that only cost time. */
const kernelArguments = "root=/dev/vda rw console=ttyS0 panic=30 mitigations=off";

/**
 * Starts the guest and connects to its hand; the boot goes on. Whatever the guest has been told is written is on the host's file by then:
 * `directsync` gives it a disk that says it has no write cache. `directory` holds sockets and the console's log: keep its path short.
 */
export const startMachine = async (base: GuestBase, disk: string, directory: string): Promise<Machine> => {
  const port = join(directory, "hand.sock");
  const log = join(directory, "console.log");
  const qemu = spawn(
    "nice",
    ["--adjustment=5", "qemu-system-x86_64", ...qemuArguments(base, disk, { port, log })],
    {
      cwd: "/",
      env: { ...plainEnvironment },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  let said = "";
  qemu.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-4000)));
  const gone = once(qemu, "exit");
  const socket = await connect(port, qemu, () => said);
  const hand = createHand(socket);
  void gone.then(() => hand.lost(`QEMU ended${said === "" ? "" : `: ${said.trim()}`}`));
  return {
    hand,
    pid: qemu.pid ?? 0,
    cutPower: async () => {
      qemu.kill("SIGKILL");
      await gone;
    },
    console: async (lines = 30) =>
      (await readFile(log, "utf8")).trimEnd().split("\n").slice(-lines).join("\n"),
  };
};

const qemuArguments = (
  base: GuestBase,
  disk: string,
  { port, log }: { readonly port: string; readonly log: string },
): readonly string[] =>
  [
    ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", memory],
    ["-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-rtc", "base=utc"],
    ["-kernel", base.kernel, "-initrd", base.initrd, "-append", kernelArguments],
    ["-serial", `file:${log}`],
    ["-drive", `file=${disk},format=raw,if=none,id=disk,cache=directsync`],
    ["-device", "virtio-blk-pci,drive=disk", "-device", "virtio-rng-pci"],
    ["-chardev", `socket,id=hand,path=${port},server=on,wait=off`],
    ["-device", "virtio-serial-pci", "-device", "virtserialport,chardev=hand,name=holdfast"],
  ].flat();

/** QEMU makes the socket some time after it starts. */
const connect = async (path: string, qemu: ChildProcess, said: () => string): Promise<Socket> => {
  for (let tries = 0; ; tries += 1) {
    if (qemu.exitCode !== null) throw new Error(`QEMU did not start: ${said().trim()}`);
    const socket = createConnection(path);
    const connected = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    if (connected) return socket;
    socket.destroy();
    if (tries > 200) throw new Error(`QEMU made no socket at ${path}: ${said().trim()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
