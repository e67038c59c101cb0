import { HoldfastError } from "@holdfast/contract";
import type { Logger } from "@holdfast/kit";
import { exists } from "../lib/files.ts";
import type { Places } from "../lib/places.ts";
import type { ProgramRunner } from "../lib/run-program.ts";
import { addressableSlots, cellAddress, linkAddress, linkName, reachableRange } from "./addresses.ts";
import { parseCounters, type NetworkCounters } from "./counters.ts";
import { buildRules, canonicalRules, countedSet, tableName } from "./rules.ts";

export type { NetworkCounters } from "./counters.ts";

/** What the helper needs to connect one cell. */
export interface LinkPlan {
  readonly namespace: string;
  readonly interface: string;
  readonly address: string;
  readonly gateway: string;
  readonly range: string;
}

/** The namespace `cellnet`: no uplink, one link for each running cell, and rules that refuse everything. */
export interface Network {
  /** Makes the namespace and installs the rules, in one transaction over whatever was there. Throws unless the kernel lists them so. */
  prepare(): Promise<void>;
  /** Throws `computer_failed` when the rules are not the installed ones: then no cell may start. */
  verify(): Promise<void>;
  /** The rules as the kernel lists them; undefined when there is no namespace. */
  rules(): Promise<string | undefined>;
  plan(slot: number): LinkPlan;
  /** Takes away the link of a cell that is gone, if it is still there. */
  removeLink(slot: number): Promise<void>;
  removeLinksExcept(slots: readonly number[]): Promise<void>;
  /** What was refused since the rules were installed. */
  counters(): Promise<NetworkCounters>;
  dispose(): Promise<void>;
}

/** Settings of the namespace: nothing is forwarded, no IPv6 at all, and no answer from an address of another link. */
const settings: readonly string[] = [
  "net.ipv4.ip_forward=0",
  "net.ipv4.conf.all.forwarding=0",
  "net.ipv4.conf.all.accept_redirects=0",
  "net.ipv4.conf.all.send_redirects=0",
  "net.ipv6.conf.all.disable_ipv6=1",
  "net.ipv6.conf.default.disable_ipv6=1",
];

export const createNetwork = (options: {
  readonly places: Pick<Places, "namespace" | "namespaceFile">;
  readonly slots: number;
  readonly runner: ProgramRunner;
  readonly logger: Logger;
}): Network => {
  const { places, runner } = options;
  const slots = Math.min(options.slots, addressableSlots);
  let installed: string | undefined;

  const inside = (program: string, args: readonly string[], input?: string): Promise<string> =>
    runner.run(
      "ip",
      ["netns", "exec", places.namespace, program, ...args],
      input === undefined ? {} : { input },
    );
  const listing = async (): Promise<string> =>
    canonicalRules(await inside("nft", ["--json", "list", "table", "inet", tableName]));

  const network: Network = {
    prepare: async () => {
      if (!(await exists(places.namespaceFile))) await runner.run("ip", ["netns", "add", places.namespace]);
      await inside("sysctl", ["-q", "-w", ...settings]);
      await inside("nft", ["-f", "-"], buildRules(slots));
      await runner.run("ip", ["-n", places.namespace, "link", "set", "dev", "lo", "up"]);
      const local = ["route", "replace", "local", reachableRange, "dev", "lo", "table", "local"];
      await runner.run("ip", ["-n", places.namespace, ...local]);
      const now = await listing();
      if (!now.includes(countedSet))
        throw new Error("the kernel took the rules of cellnet but does not list them");
      installed = now;
    },
    verify: async () => {
      const now = await listing().catch((cause: unknown) => {
        throw new HoldfastError(
          "computer_failed",
          "the rules of the cells' network cannot be read",
          { reason: "network" },
          { cause },
        );
      });
      if (installed === undefined || now !== installed)
        throw new HoldfastError(
          "computer_failed",
          "the rules of the cells' network were changed from outside",
          {
            reason: "network",
          },
        );
    },
    rules: async () => ((await exists(places.namespaceFile)) ? listing() : undefined),
    plan: (slot) => ({
      namespace: places.namespaceFile,
      interface: linkName(slot),
      address: cellAddress(slot),
      gateway: linkAddress,
      range: reachableRange,
    }),
    removeLink: async (slot) => {
      const removed = await runner.outcome("ip", [
        "-n",
        places.namespace,
        "link",
        "del",
        "dev",
        linkName(slot),
      ]);
      // The kernel takes the pair away by itself when the cell's namespace ends, also between our look and our call.
      if (removed.status !== 0 && !/Cannot find device|No such (file|device)/.test(removed.stderr))
        throw new Error(`the link ${linkName(slot)} could not be removed: ${removed.stderr.trim()}`);
    },
    removeLinksExcept: async (kept) => {
      const names = new Set(kept.map(linkName));
      const listed = await runner.run("ip", ["-n", places.namespace, "-o", "link", "show", "type", "veth"]);
      for (const line of listed.split("\n")) {
        const name = /^\d+: (c\d+)[@:]/.exec(line)?.[1];
        if (name && !names.has(name)) await network.removeLink(Number(name.slice(1)));
      }
    },
    counters: async () => parseCounters(await inside("nft", ["--json", "list", "table", "inet", tableName])),
    dispose: async () => {
      if (await exists(places.namespaceFile)) await runner.run("ip", ["netns", "del", places.namespace]);
    },
  };
  return network;
};
