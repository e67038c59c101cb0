import assert from "node:assert/strict";
import { test } from "node:test";
import { buildOciConfig, hostName } from "./oci-config.ts";
import { readPolicy } from "./policy.ts";
import { buildSeccomp } from "./seccomp.ts";

const policy = await readPolicy(new URL("../../../../policy", import.meta.url).pathname);
const plan = {
  computerId: "cmp_0123456789abcdefghjk",
  bundle: "/run/holdfast/x/supervisor-state/bundles/cmp_0123456789abcdefghjk",
  firstId: 131_072,
  idCount: 65_536,
  legacyControllers: ["memory"],
  machineId: "0".repeat(32),
  resolver: "198.18.0.1",
  descriptors: 20_000,
  linker: "/nonexistent",
};

interface Config {
  readonly process: {
    readonly noNewPrivileges: boolean;
    readonly oomScoreAdj: number;
    readonly capabilities: Readonly<Record<string, readonly string[]>>;
  };
  readonly mounts: readonly { readonly destination: string; readonly options: readonly string[] }[];
  readonly linux: {
    readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
    readonly uidMappings: unknown;
    readonly maskedPaths: readonly string[];
    readonly readonlyPaths: readonly string[];
  };
}
const config = buildOciConfig(policy, plan) as Config;

test("every namespace is new: none is joined by path but the users', which the helper makes", () => {
  const types = config.linux.namespaces.map((namespace) => namespace.type).toSorted();
  assert.deepEqual(types, ["cgroup", "ipc", "mount", "network", "pid", "user", "uts"]);
  for (const { type, path } of config.linux.namespaces)
    assert.equal(path, type === "user" ? `${plan.bundle}/users` : undefined, type);
  assert.deepEqual(config.linux.uidMappings, [{ containerID: 0, hostID: 131_072, size: 65_536 }]);
});

test("privileges cannot grow", () => {
  assert.equal(config.process.noNewPrivileges, true);
  assert.ok(config.process.oomScoreAdj >= 500);
  assert.deepEqual(Object.keys(config.process.capabilities).toSorted(), [
    "bounding",
    "effective",
    "permitted",
  ]);
});

test("every mount is nosuid; all but the terminals are nodev; host files come read-only except /work", () => {
  for (const mount of config.mounts) {
    assert.ok(mount.options.includes("nosuid"), mount.destination);
    assert.ok(mount.options.includes("nodev") || mount.destination === "/dev/pts", mount.destination);
    if (mount.options.includes("bind"))
      assert.ok(mount.options.includes("ro") !== (mount.destination === "/work"));
  }
});

test("the paths that DESIGN names are masked or read-only", () => {
  for (const path of [
    "/sys/block",
    "/sys/fs/btrfs",
    "/sys/module",
    "/proc/cmdline",
    "/proc/partitions",
    "/proc/kcore",
  ])
    assert.ok(config.linux.maskedPaths.includes(path), path);
  assert.ok(config.linux.readonlyPaths.includes("/proc/sys"));
});

test("ioctl lines let every type but btrfs's pass, whatever the upper bits are", () => {
  const lines = buildSeccomp(policy.seccomp).syscalls.filter((line) => line.names.includes("ioctl"));
  const passes = (request: bigint): boolean =>
    lines.some((line) =>
      (line.args ?? []).every(
        (argument) => (request & BigInt(argument.value)) === BigInt(argument.valueTwo ?? Number.NaN),
      ),
    );
  for (let type = 0n; type < 256n; type += 1n)
    for (let number = 0n; number < 256n; number += 1n)
      for (const high of [0n, 1n << 30n, 1n << 32n, 0xffff_ffffn << 32n]) {
        const wanted = type !== 0x94n || [9n, 13n, 54n].includes(number);
        assert.equal(
          passes(high | (type << 8n) | number),
          wanted,
          `type ${type} number ${number} high ${high}`,
        );
      }
});

test("host names are names", () => assert.match(hostName(plan.computerId), /^[a-z0-9-]{1,63}$/));

test("a compiled filter is given beside the policy, never instead of it", () => {
  const compiled = buildOciConfig(policy, { ...plan, filter: "AAAA" }) as {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly linux: { readonly seccomp: unknown };
  };
  assert.deepEqual(compiled.annotations, { "run.oci.seccomp_bpf_data": "AAAA" });
  assert.deepEqual(compiled.linux.seccomp, buildSeccomp(policy.seccomp));
  assert.equal((config as { readonly annotations?: unknown }).annotations, undefined);
});
