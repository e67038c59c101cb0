import { socketPath, supervisorLauncherMethods } from "@holdfast/contract";
import { createRpcClient, type Clock } from "@holdfast/kit";
import type { UserIds } from "../host/users.ts";
import type { Places } from "../instance/places.ts";
import type { InstanceSettings } from "../instance/settings.ts";
import { launcherDoor } from "./launcher-door.ts";
import { nodeProgram } from "./node-program.ts";
import type { ProgramPlan } from "./plan.ts";

/** Whose groups reach the sockets that are made for them; gateway is not there before projects have addresses. */
export interface Callers {
  readonly control: UserIds;
  readonly gateway: UserIds | undefined;
}

/** Plans the supervisor: root, no TCP, a socket for each caller. Not planned while there is no image to make computers from. */
export const planSupervisor = async (
  settings: InstanceSettings,
  places: Places,
  callers: Callers,
  clock: Clock,
): Promise<ProgramPlan> => {
  const { socket, health } = launcherDoor(settings.instance, "supervisor", clock);
  return {
    ...(await nodeProgram({
      name: "supervisor",
      settings,
      places,
      user: undefined,
      arguments: supervisorFlags(settings, places, callers),
      sockets: [
        socket,
        {
          kind: "unix",
          path: socketPath(settings.instance, "supervisor", "control"),
          gid: callers.control.gid,
          mode: 0o660,
        },
      ],
      environment: {},
      sources: ["packages/supervisor/src", "policy"],
      modules: ["app.ts", "handlers.ts", "upkeep.ts"],
    })),
    health,
    beforeStop: async () => {
      const { path } = socket;
      const client = createRpcClient({ path, methods: supervisorLauncherMethods, clock, timeoutMs: 120_000 });
      await client.call("clear", {});
    },
    stopSignal: "SIGTERM",
    killSignal: "SIGKILL",
    stopMs: 20_000,
  };
};

/** What the supervisor is told; its own doctor takes the same. */
export const supervisorFlags = (
  settings: InstanceSettings,
  places: Places,
  { control, gateway }: Callers,
): readonly string[] => {
  const flags = {
    instance: settings.instance,
    "short-id": settings.short_id,
    pool: places.pool,
    image: settings.image ?? "",
    "uid-base": settings.uid_base,
    "uid-count": settings.uid_count,
    "control-gid": control.gid,
    "gateway-gid": gateway?.gid ?? 0,
    agent: settings.agent,
    run: places.run,
  };
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
};
