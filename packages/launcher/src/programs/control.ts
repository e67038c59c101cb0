import { socketPath } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import type { Places } from "../instance/places.ts";
import { projectsAddress, publicAddress, type InstanceSettings } from "../instance/settings.ts";
import { warmCells } from "../instance/warm.ts";
import { launcherDoor } from "./launcher-door.ts";
import { nodeProgram } from "./node-program.ts";
import type { ProgramPlan } from "./plan.ts";
import type { Callers } from "./supervisor.ts";

/** Plans control: its own user, no privileges, the HTTP listeners, and sockets for the launcher and for gateway. */
export const planControl = async (
  settings: InstanceSettings,
  places: Places,
  { control, gateway }: Callers,
  databaseUrl: string,
  clock: Clock,
): Promise<ProgramPlan> => {
  const { socket, health } = launcherDoor(settings.instance, "control", clock);
  const { projects } = settings;
  const forGateway =
    projects && gateway
      ? {
          arguments: [
            "--gateway-fd",
            String(4 + settings.listen.length),
            "--projects-address",
            projectsAddress(projects),
          ],
          sockets: [
            {
              kind: "unix",
              path: socketPath(settings.instance, "control", "gateway"),
              gid: gateway.gid,
              mode: 0o660,
            } as const,
          ],
        }
      : { arguments: [], sockets: [] };
  return {
    ...(await nodeProgram({
      name: "control",
      settings,
      places,
      user: control,
      arguments: [
        "--instance",
        settings.instance,
        ...settings.listen.flatMap((_address, index) => ["--http-fd", String(4 + index)]),
        "--address",
        publicAddress(settings),
        ...settings.allow_hosts.flatMap((host) => ["--allow-host", host]),
        "--data",
        places.control,
        "--warm",
        String(warmCells(settings)),
        ...forGateway.arguments,
      ],
      sockets: [
        socket,
        ...settings.listen.map((address) => ({ kind: "tcp", address }) as const),
        ...forGateway.sockets,
      ],
      environment: { HOLDFAST_DATABASE_URL: databaseUrl },
      sources: ["packages/control/src"],
      modules: [
        "app.ts",
        "serve.ts",
        "doors/gateway/server.ts",
        "doors/launcher/server.ts",
        "doors/mcp/index.ts",
        "doors/http/openapi.ts",
        "doors/http/reference.ts",
        "doors/http/sign-in.ts",
      ],
    })),
    health,
    stopSignal: "SIGTERM",
    killSignal: "SIGKILL",
    stopMs: 10_000,
  };
};
