import { connect } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { computerSizes } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { z } from "zod";
import type { Bundles } from "../cells/bundle.ts";
import type { CellHelper } from "../cells/helper.ts";
import { agentPath } from "../cells/oci-config.ts";
import type { Policy } from "../cells/policy.ts";
import { createTakeDown } from "../cells/take-down.ts";
import type { CellCgroups } from "../cgroups/index.ts";
import type { Images } from "../images/index.ts";
import { makeDirectory } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import type { Network } from "../network/index.ts";
import type { Btrfs } from "../volumes/btrfs.ts";
import type { Layer } from "./index.ts";
import { makeTrial, removeTrial } from "./trial-volume.ts";

export interface CellLayerOptions {
  readonly places: Places;
  readonly policy: () => Promise<Policy>;
  readonly btrfs: Btrfs;
  readonly images: Images;
  readonly image: string;
  readonly helper: CellHelper;
  readonly bundles: Bundles;
  readonly openCgroups: () => Promise<CellCgroups>;
  /** Runs the trial with a prepared network, and takes that away again if it is the trial's own. */
  readonly withNetwork: <T>(work: (network: Network) => Promise<T>) => Promise<T>;
  readonly clock: Clock;
  readonly agent: string;
  readonly trial: string;
  readonly trialId: string;
  readonly trialSlot: number;
  readonly firstId: number;
  readonly idCount: number;
}

/** A whole cell that starts like any other, except that its first process says what it sees and may do. */
export const cellLayer = (options: CellLayerOptions): Layer => ({
  name: "cell",
  after: ["policy", "runtime", "cgroups", "pool", "root", "network"],
  remedy:
    "See the failing part in `detail`. Usually the kernel was built without it (CONFIG_SECCOMP_FILTER, CONFIG_USER_NS, CONFIG_CGROUP_BPF), or the runtime was replaced.",
  prove: () => options.withNetwork((network) => tryCell(options, network)),
});

const tryCell = async (options: CellLayerOptions, network: Network): Promise<string> => {
  const { places, trialId, trialSlot, firstId, idCount } = options;
  const cgroups = await options.openCgroups();
  const takeDown = createTakeDown({ ...options, cgroups, network });
  const volume = `${places.trials}/cell-${options.trial}`;
  await takeDown(trialId, trialSlot);
  await makeTrial(volume, options.btrfs);
  try {
    let path = await startTrial(options, network, cgroups, volume);
    // What is looked at starts as computers will: with the filter that the runtime has compiled by now.
    if (await options.bundles.keepFilter(trialId)) {
      await takeDown(trialId, trialSlot);
      path = await startTrial(options, network, cgroups, volume);
    }
    refuseWeaker(await readView(path, options.clock), await options.policy(), firstId, idCount);
    return "user namespace, seccomp, capabilities, devices and network tried from inside a cell";
  } finally {
    await takeDown(trialId, trialSlot);
    await removeTrial(volume, options.btrfs);
  }
};

/** Starts a cell that only says what it sees; the socket on which it does. */
const startTrial = async (
  options: CellLayerOptions,
  network: Network,
  cgroups: CellCgroups,
  volume: string,
): Promise<string> => {
  const { places, trialId, trialSlot, firstId, idCount } = options;
  const { cpus, memory_bytes: memoryBytes, pids } = computerSizes.small;
  const image = await options.images.find(options.image);
  const groups = await cgroups.create(trialId, { cpus, memoryBytes, pids });
  const link = network.plan(trialSlot);
  const bundle = await options.bundles.make({
    computerId: trialId,
    firstId,
    idCount,
    legacyControllers: cgroups.legacyControllers,
    resolver: link.gateway,
    link,
    command: [agentPath, "view", "--serve"],
  });
  const sockets = places.sockets(trialId);
  await makeDirectory(sockets, 0o700);
  const path = join(sockets, "control.sock");
  await options.helper.start({
    id: trialId,
    root: { bundle, image: image.path, volume, agent: options.agent, firstId, idCount },
    sockets: [
      { path, gid: 0 },
      { path: join(sockets, "ingress.sock"), gid: 0 },
    ],
    cgroups: groups,
    rules: network.inForce(),
  });
  return path;
};

const outcomes = z.record(z.string(), z.string());
const viewSchema = z.object({
  own_namespaces: z.record(z.string(), z.boolean()),
  uid_map: z.array(z.array(z.number())),
  status: outcomes,
  system_calls: outcomes,
  foreign_entries: outcomes,
  sockets: outcomes,
  btrfs_requests: outcomes,
  connections: outcomes,
});
type TrialView = z.output<typeof viewSchema>;

const longestBytes = 256 * 1024;

const readView = async (path: string, clock: Clock): Promise<TrialView> => {
  const socket = connect({ path });
  const cancel = clock.after(20_000, () =>
    socket.destroy(new Error("the trial cell said nothing within 20 s")),
  );
  try {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.length > longestBytes) socket.destroy(new Error("the trial cell said too much"));
    });
    await once(socket, "close");
    return viewSchema.parse(JSON.parse(text));
  } finally {
    cancel();
    socket.destroy();
  }
};

/** Throws naming the first thing that a cell on this host could do and must not. */
const refuseWeaker = (view: TrialView, policy: Policy, firstId: number, idCount: number): void => {
  const refuse = (what: string): never => {
    throw new Error(`in a cell on this host ${what}`);
  };
  for (const name of ["user", "pid", "ipc", "uts", "cgroup"])
    if (!view.own_namespaces[name]) refuse(`the ${name} namespace is the host's`);
  if (JSON.stringify(view.uid_map) !== JSON.stringify([[0, firstId, idCount]]))
    refuse("ids are not mapped to its range");
  if (view.status["NoNewPrivs"] !== "1") refuse("programs can gain privileges (no_new_privs is not set)");
  if (view.status["Seccomp"] !== "2") refuse("no system call filter is in place");
  const wanted = capabilityMask(policy.capabilities.granted.map((line) => line.name));
  for (const set of ["CapPrm", "CapEff", "CapBnd"])
    if (BigInt(`0x${view.status[set] ?? "f"}`) !== wanted)
      refuse(`the capabilities ${set} are ${view.status[set]}`);
  for (const [name, outcome] of Object.entries(view.system_calls))
    if (outcome !== "EPERM" && outcome !== "ENOSYS")
      refuse(`${name} ended with ${outcome} instead of a refusal`);
  for (const [name, outcome] of Object.entries(view.foreign_entries))
    if (!outcome.startsWith("ended by signal"))
      refuse(`the ${name} entry of the kernel answers (${outcome})`);
  for (const [name, outcome] of Object.entries(view.btrfs_requests))
    if (!name.startsWith("9,") && outcome !== "EPERM")
      refuse(`the btrfs request ${name} ended with ${outcome}`);
  for (const [address, outcome] of Object.entries(view.connections))
    if (outcome === "ok") refuse(`${address} can be reached`);
  if (view.connections["1.1.1.1:443"] !== "ENETUNREACH") refuse("there is a route to the outside");
};

/** Bit numbers of `include/uapi/linux/capability.h`, for those that a policy may grant. */
const capabilityBits: Readonly<Record<string, number>> = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_DAC_READ_SEARCH: 2,
  CAP_FOWNER: 3,
  CAP_FSETID: 4,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
  CAP_NET_BIND_SERVICE: 10,
};

const capabilityMask = (names: readonly string[]): bigint =>
  names.reduce((mask, name) => {
    const bit = capabilityBits[name];
    if (bit === undefined) throw new Error(`${name} is not a capability that a cell may be given`);
    return mask | (1n << BigInt(bit));
  }, 0n);
