import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type CellHost, useCellHost } from "../support/cell-host.ts";

const host = await useCellHost();

const btrfs = (...argv: readonly string[]): string => execFileSync("btrfs", argv, { encoding: "utf8" });
const image = (): string =>
  join(host.places.pool, "images", host.flags[host.flags.indexOf("--image") + 1] ?? "");

interface Break {
  /** What the supervisor says it cannot prove, and why. */
  readonly problem: RegExp;
  readonly start?: Parameters<CellHost["start"]>[0];
  readonly change?: () => void;
  readonly restore?: () => void;
}

/** Each layer, taken away in a way that a host could lose it. */
const breaks: Readonly<Record<string, () => Break>> = {
  "policy that is not there": () => ({
    problem: /policy: /,
    start: { flags: ["--policy", "/nonexistent"] },
  }),
  "a runtime that is no runtime": () => ({
    problem: /runtime: .*does not say its version/,
    start: { flags: ["--runtime", "/bin/true"] },
  }),
  "cgroups that are not mounted": () => ({
    problem: /cgroups: /,
    start: { first: "mount -t tmpfs none /sys/fs/cgroup" },
  }),
  "a pool that is another file system": () => ({
    problem: /pool: .* is not btrfs/,
    start: { first: `mount -t tmpfs none ${host.places.pool}` },
  }),
  "a pool on which setuid counts": () => ({
    problem: /pool: .* is not mounted nosuid/,
    start: { first: `mount -o remount,bind,suid,nodev ${host.places.pool}` },
  }),
  "a pool on which devices open": () => ({
    problem: /pool: .* is not mounted nodev/,
    start: { first: `mount -o remount,bind,nosuid,dev ${host.places.pool}` },
  }),
  "a pool that others can enter": () => ({
    problem: /pool: .* can be entered by others than root/,
    change: () => chmodSync(host.places.poolGuard, 0o711),
    restore: () => chmodSync(host.places.poolGuard, 0o700),
  }),
  "a pool without quotas": () => ({
    problem: /pool: .*quota/,
    change: () => btrfs("quota", "disable", host.places.pool),
    restore: () => {
      btrfs("quota", "enable", host.places.pool);
      btrfs("quota", "rescan", "-w", host.places.pool);
    },
  }),
  "an image that can be written": () => ({
    problem: /root: the image .* is not read-only/,
    change: () => btrfs("property", "set", "-f", "-ts", image(), "ro", "false"),
    restore: () => btrfs("property", "set", "-ts", image(), "ro", "true"),
  }),
  "an agent that is another program": () => ({
    problem: /root: /,
    start: { first: `mount --bind /bin/true ${host.agent}` },
  }),
  "packet rules that cannot be installed": () => ({
    problem: /network: /,
    start: { first: 'mount --bind /bin/false "$(command -v nft || echo /usr/sbin/nft)"' },
  }),
};

for (const [what, make] of Object.entries(breaks))
  test(`71: with ${what} nothing is started, and it is said why`, async () => {
    const { problem, start, change, restore } = make();
    await host.kill();
    try {
      change?.();
      await assert.rejects(host.start(start), problem);
      for (const call of [host.control.call("cell.list", {}), host.control.call("info", {})])
        await assert.rejects(call, { code: "unavailable" });
      assert.equal((await host.launcher.call("health", {})).ready, false);
    } finally {
      await host.kill();
      restore?.();
    }
  });

test("71: mended, it serves, and says of each layer what was tried", async () => {
  await host.kill();
  await host.start();
  const { layers } = await host.control.call("info", {});
  assert.deepEqual(
    layers.map(({ name, proven }) => [name, proven]),
    ["policy", "runtime", "cgroups", "pool", "root", "network", "cell"].map((name) => [name, true]),
  );
  for (const { detail } of layers) assert.ok(detail.length > 10, detail);
  const id = await host.newComputer();
  assert.equal((await host.exec(id, ["/bin/true"])).code, 0);
  await host.control.call("volume.destroy", { computer_id: id });
});
