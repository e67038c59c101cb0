import type { Network } from "../network/index.ts";
import type { Layer } from "./index.ts";

/** The namespace `cellnet` with its rules, as the kernel lists them. */
export const networkLayer = (network: Network): Layer => ({
  name: "network",
  remedy:
    "Install nftables, iproute2 and procps; the kernel needs nf_tables with inet, reject and counters, and veth.",
  prove: async () => {
    await network.prepare();
    await network.verify();
    return "cellnet without uplink; rules installed and read back";
  },
});
