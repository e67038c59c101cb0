import type { Policy } from "../cells/policy.ts";
import type { Layer } from "./index.ts";

/** What a cell may do, as data that is whole and does not contradict itself. */
export const policyLayer = (directory: string, policy: () => Promise<Policy>): Layer => ({
  name: "policy",
  remedy: `Restore ${directory} from the release; no cell starts without it.`,
  prove: async () => {
    const { seccomp, capabilities } = await policy();
    const calls = [...seccomp.allowed, ...seccomp.rules].flatMap((line) => line.allow).length;
    return `${calls} system calls allowed, ${capabilities.granted.length} capabilities granted`;
  },
});
