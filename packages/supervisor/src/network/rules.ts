import { cellAddress, linkName, reachableRange } from "./addresses.ts";

export const tableName = "holdfast";

/** Links that had something refused, with how often; filled by the kernel as it happens. */
export const countedSet = "refused_links";

/**
 * The whole rule set of `cellnet`, static: every link that may ever exist is pinned to its address, so starting a cell changes no rule.
 *
 * - IPv6 is dropped; so is a packet whose link and source address do not belong together.
 * - Inside the reachable range everything is refused at once (reset, port unreachable) and counted for each link. Ports of the
 *   sentinel are accepted before that line once there is one.
 * - Nothing is forwarded, and nothing leaves but answers to the address that belongs to the link.
 */
export const buildRules = (slots: number): string => {
  const links = Array.from({ length: slots }, (_, slot) => `"${linkName(slot)}" . ${cellAddress(slot)}`);
  return `table inet ${tableName}
delete table inet ${tableName}
table inet ${tableName} {
  counter ipv6 { }
  counter spoofed { }
  counter outside { }
  counter refused { }
  counter forwarded { }
  counter leaving { }
  set links {
    type ifname . ipv4_addr
    elements = { ${links.join(", ")} }
  }
  set ${countedSet} {
    type ifname
    size ${slots}
    flags dynamic
    counter
  }
  chain arriving {
    type filter hook prerouting priority raw; policy drop;
    iifname "lo" accept
    meta nfproto ipv6 counter name "ipv6" drop
    iifname . ip saddr != @links counter name "spoofed" drop
    ip daddr != ${reachableRange} counter name "outside" drop
    accept
  }
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "lo" accept
    counter name "refused" update @${countedSet} { iifname }
    meta l4proto tcp reject with tcp reset
    reject with icmp port-unreachable
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    counter name "forwarded" drop
  }
  chain output {
    type filter hook output priority filter; policy drop;
    oifname "lo" accept
    oifname . ip daddr @links accept
    counter name "leaving" drop
  }
}
`;
};

/**
 * The rule set as the kernel lists it, without what changes by itself (handles, counters' values, links that were counted), so that two
 * listings are equal exactly when the rules are. Takes the output of `nft --json list table`.
 */
export const canonicalRules = (listing: string): string => {
  const parsed: unknown = JSON.parse(listing);
  return JSON.stringify(strip(parsed));
};

const strip = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(strip).filter((entry) => entry !== undefined);
  if (typeof value !== "object" || value === null) return value;
  if ("metainfo" in value) return undefined;
  const counted = "name" in value && value.name === countedSet;
  const entries = Object.entries(value).filter(
    ([key]) => !["handle", "packets", "bytes"].includes(key) && !(counted && key === "elem"),
  );
  return Object.fromEntries(
    entries.map(([key, inner]) => [key, key === "elem" ? sorted(strip(inner)) : strip(inner)]),
  );
};

/** The kernel lists the elements of a set in any order. */
const sorted = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((entry) => JSON.stringify(entry)).toSorted() : value;
