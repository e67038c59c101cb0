import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory, command, plainEnvironment, withLock } from "@holdfast/launcher";
import { readAptSources, sourcesForSuite } from "../../tools/setup/image/apt-sources.ts";
import { aptSettings } from "../../tools/setup/image/build.ts";
import { packagesFor, proxies } from "../../tools/setup/steps/packages.ts";

const suite = "bookworm";
/** Debian's smallest system that boots with systemd and has the one prerequisite: Debian's own Node 18 with npm. */
const installed = [
  "systemd",
  "systemd-sysv",
  "udev",
  "dbus",
  "kmod",
  "linux-image-amd64",
  "initramfs-tools",
  "nodejs",
  "npm",
];
const diskBytes = 24 * 1024 ** 3;
const prepare = new URL("guest/prepare.sh", import.meta.url).pathname;

/** A Debian 12 without anything of Holdfast: a disk without boot loader, and what QEMU boots it with. */
export interface GuestBase {
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

/** Built from the host's Debian mirror once for each recipe and kept in the cache. Needs root, mmdebstrap and e2fsprogs. */
export const ensureGuestBase = async (note: (text: string) => void): Promise<GuestBase> => {
  const cache = join(cacheDirectory, "host-test");
  const directory = join(cache, await digestOfRecipe());
  const base = {
    disk: join(directory, "disk.img"),
    kernel: join(directory, "vmlinuz"),
    initrd: join(directory, "initrd.img"),
  };
  await withLock(join(cacheDirectory, "host-test.lock"), async () => {
    if (await exists(directory)) return;
    const work = `${directory}.new`;
    await rm(work, { recursive: true, force: true });
    await mkdir(work, { recursive: true, mode: 0o755 });
    await build(work, note);
    await rename(work, directory);
    for (const other of await readdir(cache))
      if (join(cache, other) !== directory) await rm(join(cache, other), { recursive: true, force: true });
  });
  return base;
};

const build = async (work: string, note: (text: string) => void): Promise<void> => {
  const root = join(work, "root");
  const hook = join(work, "prepare.sh");
  await copyFile(prepare, hook);
  const hostSuite = /^VERSION_CODENAME=(\S+)$/m.exec(await readFile("/etc/os-release", "utf8"))?.[1] ?? suite;
  const sources = sourcesForSuite(await readAptSources(), hostSuite, suite, ["main"]);
  const fetched = packagesFor({ database: true, agentCompiler: false });
  await command(
    [
      "mmdebstrap",
      "--mode=root",
      "--variant=minbase",
      `--include=${installed.join(",")}`,
      ...(await aptSettings()).map((setting) => `--aptopt=${setting}`),
      // The places are ours and hold no character that a shell would read.
      `--customize-hook=${hook} "$1" ${fetched.join(" ")}`,
      suite,
      root,
      "-",
    ],
    {
      environment: { ...plainEnvironment, ...proxies(), TMPDIR: work, HOME: "/nonexistent" },
      input: sources,
      onLine: note,
    },
  );
  // Only now: mmdebstrap writes the mirror's sources itself, and the guest is to know its own packages alone.
  await command(["tee", join(root, "etc/apt/sources.list")], {
    input: "deb [trusted=yes] file:/srv/debian ./\n",
  });
  await rm(join(root, "etc/apt/sources.list.d"), { recursive: true, force: true });
  for (const [name, pattern] of [
    ["vmlinuz", /^vmlinuz-/],
    ["initrd.img", /^initrd\.img-/],
  ] as const) {
    const found = (await readdir(join(root, "boot"))).find((file) => pattern.test(file));
    if (found === undefined) throw new Error(`Debian's kernel package left no ${name} in /boot.`);
    await copyFile(join(root, "boot", found), join(work, name));
  }
  note("disk image");
  await command(["truncate", "--size", String(diskBytes), join(work, "disk.img")]);
  await command(["mkfs.ext4", "-q", "-d", root, join(work, "disk.img")]);
  await rm(root, { recursive: true });
  await rm(hook);
};

const digestOfRecipe = async (): Promise<string> => {
  const hash = createHash("sha256").update(
    JSON.stringify([suite, installed, packagesFor({ database: true, agentCompiler: false }), diskBytes]),
  );
  for (const file of [prepare, import.meta.filename]) hash.update("\0").update(await readFile(file));
  return hash.digest("hex").slice(0, 32);
};

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
