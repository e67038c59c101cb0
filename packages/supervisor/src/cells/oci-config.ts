import type { LinkPlan } from "../network/index.ts";
import type { Policy } from "./policy.ts";
import { buildSeccomp } from "./seccomp.ts";
import type { TreeMount } from "./trees.ts";

/** What differs between cells. Everything else of the configuration is the same for all. */
export interface CellPlan {
  readonly computerId: string;
  readonly bundle: string;
  readonly firstId: number;
  readonly idCount: number;
  /** v1 controllers whose directories are shown below /sys/fs/cgroup; none: the v2 directory is shown there. */
  readonly legacyControllers: readonly string[];
  readonly machineId: string;
  readonly resolver: string;
  /** Descriptors that one process may be allowed to open; not above the supervisor's own hard limit. */
  readonly descriptors: number;
  /** Connects the cell to `cellnet` once its namespaces are there, before anything runs in it. */
  readonly link?: LinkPlan;
  /** The binary that does so. */
  readonly linker: string;
  /** The system call filter as the runtime compiles it, in base64, so that it need not do so again. */
  readonly filter?: string | undefined;
  /** What runs as PID 1 instead of the agent; trials and tests only. */
  readonly command?: readonly string[];
  /** What the cell is shown of other computers. */
  readonly trees?: readonly TreeMount[];
}

/** Where the agent is in every cell, read-only. */
export const agentPath = "/.holdfast/agent";

/** Mount targets that must exist in the root and not be links; the helper sees to it. */
export const mountTargets = {
  directories: ["proc", "sys", "dev", "work"],
  files: [agentPath.slice(1)],
};

/** The kernel has some 3,000 for all cells together. */
const terminals = "max=256";

/** Counts against the cell's own memory: a quarter of the smallest computer, so that what fills it can still be deleted. */
const sharedMemory = "size=256m";

/** A runtime that does not know it compiles `linux.seccomp`, which always stays: nothing can end without a filter. */
const compiledFilter = "run.oci.seccomp_bpf_data";

/** The whole configuration for the runtime: nothing is left to its defaults that could differ between versions. */
export const buildOciConfig = (policy: Policy, plan: CellPlan): object => {
  const capabilities = policy.capabilities.granted.map((line) => line.name);
  const map = [{ containerID: 0, hostID: plan.firstId, size: plan.idCount }];
  return {
    ociVersion: "1.0.0",
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: plan.command ?? agentCommand(plan),
      // With a home of its own the runtime looks for none in the cell's /etc/passwd, which may be a pipe.
      env: [
        "HOME=/root",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8",
      ],
      cwd: "/",
      // Inheritable and ambient stay empty: nothing is handed on past an execution that drops it.
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      noNewPrivileges: true,
      oomScoreAdj: 500,
      rlimits: [
        { type: "RLIMIT_NOFILE", soft: Math.min(1024, plan.descriptors), hard: plan.descriptors },
        { type: "RLIMIT_CORE", soft: 0, hard: 0 },
      ],
    },
    root: { path: `${plan.bundle}/root`, readonly: false },
    hostname: hostName(plan.computerId),
    mounts: mounts(plan),
    ...(plan.filter !== undefined && { annotations: { [compiledFilter]: plan.filter } }),
    ...(plan.link && { hooks: { createRuntime: [{ path: plan.linker, args: linkCommand(plan.link) }] } }),
    linux: {
      // Made by the helper, as the computer's own: the runtime would make it as root, whose counters all cells would then share.
      namespaces: [
        { type: "user", path: `${plan.bundle}/users` },
        ...["pid", "mount", "network", "ipc", "uts", "cgroup"].map((type) => ({ type })),
      ],
      uidMappings: map,
      gidMappings: map,
      sysctl: {
        "net.ipv6.conf.all.disable_ipv6": "1",
        "net.ipv6.conf.default.disable_ipv6": "1",
      },
      seccomp: buildSeccomp(policy.seccomp),
      maskedPaths: policy.paths.masked.map((line) => line.path),
      readonlyPaths: policy.paths.readonly.map((line) => line.path),
    },
  };
};

const linkCommand = (link: LinkPlan): string[] => [
  "holdfast-agent",
  "host",
  "cell",
  "link",
  link.namespace,
  link.interface,
  link.address,
  link.gateway,
  link.range,
];

export const hostName = (computerId: string): string => computerId.replace("_", "-");

const agentCommand = (plan: CellPlan): string[] => [
  agentPath,
  "cell",
  "--hostname",
  hostName(plan.computerId),
  "--machine-id",
  plan.machineId,
  "--resolver",
  plan.resolver,
];

const mounts = (plan: CellPlan): object[] => {
  const still = ["nosuid", "nodev", "noexec"];
  const bind = (destination: string, source: string, ...options: string[]): object => ({
    destination,
    type: "bind",
    source: `${plan.bundle}/${source}`,
    options: ["bind", "nosuid", "nodev", ...options],
  });
  const cgroup =
    plan.legacyControllers.length === 0
      ? [bind("/sys/fs/cgroup", "cgroup", "ro", "noexec")]
      : [
          {
            destination: "/sys/fs/cgroup",
            type: "tmpfs",
            source: "tmpfs",
            options: [...still, "mode=755", "size=4k", "nr_inodes=16"],
          },
          ...plan.legacyControllers.map((name) =>
            bind(`/sys/fs/cgroup/${name}`, `cgroup/${name}`, "ro", "noexec"),
          ),
        ];
  return [
    { destination: "/proc", type: "proc", source: "proc", options: still },
    { destination: "/sys", type: "sysfs", source: "sysfs", options: [...still, "ro"] },
    ...cgroup,
    { destination: "/dev", type: "tmpfs", source: "tmpfs", options: [...still, "mode=755", "size=64k"] },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5", terminals],
    },
    { destination: "/dev/shm", type: "tmpfs", source: "shm", options: [...still, "mode=1777", sharedMemory] },
    { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: still },
    bind("/work", "volume/work", "rw"),
    bind(agentPath, "agent", "ro"),
    ...(plan.trees ?? []).map(({ destination, source, readOnly }) =>
      bind(destination, source, "noexec", readOnly ? "ro" : "rw"),
    ),
  ];
};
