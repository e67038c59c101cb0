import { controlLauncherMethods, socketPath } from "@holdfast/contract";
import { createRpcClient, type Clock } from "@holdfast/kit";
import type { PlannedSocket, ProgramPlan } from "./plan.ts";

/** What every program of ours answers the launcher; the rest of its methods differ. */
const methods = { health: controlLauncherMethods.health };

/** The socket of a program that is root's alone, and its health as asked there. */
export const launcherDoor = (
  instance: string,
  program: "supervisor" | "control" | "gateway",
  clock: Clock,
): { readonly socket: Extract<PlannedSocket, { kind: "unix" }>; readonly health: ProgramPlan["health"] } => {
  const path = socketPath(instance, program, "launcher");
  const client = createRpcClient({ path, methods, clock, timeoutMs: 5000 });
  return {
    socket: { kind: "unix", path, gid: 0, mode: 0o600 },
    health: async () => {
      const { ready, detail } = await client.call("health", {});
      return ready ? undefined : detail;
    },
  };
};
