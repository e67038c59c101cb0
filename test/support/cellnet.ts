import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import type { Instance } from "./instance.ts";

/** Packets refused in `cellnet` by reason, as the kernel counts them. */
export const refusedPackets = ({ shortId }: Instance): Readonly<Record<string, number>> => {
  const listing = spawnSync(
    "ip",
    ["netns", "exec", `hf${shortId}-cellnet`, "nft", "--json", "list", "counters"],
    { encoding: "utf8" },
  );
  assert.equal(listing.status, 0, listing.stderr);
  const { nftables } = JSON.parse(listing.stdout) as {
    readonly nftables: readonly { readonly counter?: { readonly name: string; readonly packets: number } }[];
  };
  return Object.fromEntries(
    nftables.flatMap(({ counter }) => (counter ? [[counter.name, counter.packets]] : [])),
  );
};
