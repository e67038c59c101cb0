import type { Network } from "../network/index.ts";
import type { Layer } from "./index.ts";

const remedy =
  "Install nftables, iproute2 and procps; the kernel needs nf_tables with inet, reject and counters, and veth.";

/** The namespace `cellnet` with its rules, as the kernel lists them. */
export const networkLayer = (network: Network): Layer => ({
  name: "network",
  remedy,
  prove: async () => {
    await network.prepare();
    return "cellnet without uplink; rules installed and read back";
  },
});

/** The same in a namespace that is taken away again, compared with the one in use, if there is one. */
export const networkTrialLayer = (scratch: Network, live: Network): Layer => ({
  name: "network",
  remedy,
  prove: async () => {
    try {
      await scratch.prepare();
      const inUse = await live.rules();
      if (inUse === undefined) return "rules installed and read back in a trial; no cellnet is there yet";
      if (inUse !== (await scratch.rules()))
        throw new Error("the rules in cellnet are not the ones of this version");
      return "rules installed and read back in a trial; cellnet has the same";
    } finally {
      await scratch.dispose();
    }
  },
});
