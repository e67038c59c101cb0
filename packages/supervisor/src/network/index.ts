import { HoldfastError } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import { z } from "zod";
import { exists } from "../lib/files.ts";
import type { HelperService } from "../lib/helper-service.ts";
import type { Places } from "../lib/places.ts";
import type { ProgramRunner } from "../lib/run-program.ts";
import { createBound } from "../lib/turns.ts";
import { addressableSlots, cellAddress, linkAddress, linkName, reachableRange } from "./addresses.ts";
import { parseCounters, type NetworkCounters } from "./counters.ts";
import { buildRules, canonicalRules, countedSet, tableName } from "./rules.ts";

export type { NetworkCounters } from "./counters.ts";

/** How one cell is connected. */
export interface LinkPlan {
  readonly namespace: string;
  readonly interface: string;
  readonly address: string;
  readonly gateway: string;
  readonly range: string;
}

/** Proof that the rules are the installed ones: each change of any rule gives the namespace another number. */
export interface RulesInForce {
  readonly namespace: string;
  readonly generation: number;
}

/** The namespace `cellnet`: no uplink, one link for each running cell, and rules that refuse everything. */
export interface Network {
  /** Makes the namespace and installs the rules, in one transaction over whatever was there. Throws unless the kernel lists them so. */
  prepare(): Promise<void>;
  /** What the kernel must still say when a cell is connected. Throws `computer_failed` before `prepare`. */
  inForce(): RulesInForce;
  /**
   * For when the kernel says something else: takes the rules that are there when they are the installed ones after all, and else installs
   * them again. Throws `computer_failed` when they are changed again and again: then no cell may start.
   */
  mend(): Promise<RulesInForce>;
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

/** Mended at most this often within the time; whoever changes rules faster than that is not to be outrun. */
const mostMends = { count: 5, withinMs: 60_000 };

export const createNetwork = (options: {
  readonly places: Pick<Places, "namespace" | "namespaceFile">;
  readonly slots: number;
  readonly runner: ProgramRunner;
  readonly service: HelperService;
  readonly clock: Clock;
  readonly logger: Logger;
}): Network => {
  const { places, runner, clock } = options;
  const slots = Math.min(options.slots, addressableSlots);
  const oneAtATime = createBound(1);
  let installed: { readonly listing: string; readonly generation: number } | undefined;
  let mends: readonly number[] = [];

  const inside = (program: string, args: readonly string[], input?: string): Promise<string> =>
    runner.run(
      "ip",
      ["netns", "exec", places.namespace, program, ...args],
      input === undefined ? {} : { input },
    );
  const listing = async (): Promise<string> =>
    canonicalRules(await inside("nft", ["--json", "list", "table", "inet", tableName]));
  const generation = async (): Promise<number> =>
    generationSchema.parse(await options.service.ask("rules", { namespace: places.namespaceFile }))
      .generation;

  /** The listing and its number, taken so that nobody changed anything in between. */
  const read = async (): Promise<{ readonly listing: string; readonly generation: number }> => {
    const before = await generation();
    const listed = await listing();
    if ((await generation()) !== before) throw refuse("were changed while they were read");
    return { listing: listed, generation: before };
  };

  const network: Network = {
    prepare: async () => {
      if (!(await exists(places.namespaceFile))) await runner.run("ip", ["netns", "add", places.namespace]);
      await inside("sysctl", ["-q", "-w", ...settings]);
      await inside("nft", ["-f", "-"], buildRules(slots));
      await runner.run("ip", ["-n", places.namespace, "link", "set", "dev", "lo", "up"]);
      const local = ["route", "replace", "local", reachableRange, "dev", "lo", "table", "local"];
      await runner.run("ip", ["-n", places.namespace, ...local]);
      const now = await read();
      if (!now.listing.includes(countedSet))
        throw new Error("the kernel took the rules of cellnet but does not list them");
      installed = now;
    },
    inForce: () => {
      if (installed === undefined) throw refuse("are not installed");
      return { namespace: places.namespaceFile, generation: installed.generation };
    },
    mend: () =>
      oneAtATime(async () => {
        const before = network.inForce();
        const now = await read().catch(() => undefined);
        // Another start has mended them meanwhile.
        if (now?.generation === before.generation) return before;
        if (now && now.listing === installed?.listing) {
          installed = now;
          return network.inForce();
        }
        mends = [...mends, clock.monotonic()].filter((at) => at > clock.monotonic() - mostMends.withinMs);
        if (mends.length > mostMends.count) throw refuse("are changed from outside again and again");
        options.logger.warn(
          "the rules of the cells' network were changed from outside; they are installed again",
        );
        await network.prepare();
        return network.inForce();
      }),
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

const generationSchema = z.object({ generation: z.number().int() });

const refuse = (what: string): HoldfastError =>
  new HoldfastError("computer_failed", `the rules of the cells' network ${what}`, { reason: "network" });
