import type { Clock } from "@holdfast/kit";
import { exists } from "../host/exists.ts";
import type { UserIds } from "../host/users.ts";
import type { Places } from "../instance/places.ts";
import {
  projectsAddress,
  publicAddress,
  type InstanceSettings,
  type ProjectsSettings,
} from "../instance/settings.ts";
import { copyCertificate } from "./certificate-copy.ts";
import { launcherDoor } from "./launcher-door.ts";
import { nodeProgram } from "./node-program.ts";
import type { ProgramPlan } from "./plan.ts";

/** Plans gateway: its own user, no privileges, no database; visitors' listeners, one for a TLS proxy's question, one for the launcher. */
export const planGateway = async (
  settings: InstanceSettings,
  projects: ProjectsSettings,
  places: Places,
  gateway: UserIds,
  clock: Clock,
): Promise<ProgramPlan> => {
  const { socket, health } = launcherDoor(settings.instance, "gateway", clock);
  return {
    ...(await nodeProgram({
      name: "gateway",
      settings,
      places,
      user: gateway,
      arguments: [],
      sockets: [
        socket,
        ...[projects.ask, ...projects.listen].map((address) => ({ kind: "tcp", address }) as const),
      ],
      environment: {
        // What passes through is garbage at once. With V8's own 16 MB a slow reader's download stood at 173 MB resident, with 4 MB at 110, and no
        // slower (`npm run bench -- --only addresses`).
        NODE_OPTIONS: "--max-semi-space-size=4",
        HOLDFAST_INSTANCE: settings.instance,
        HOLDFAST_DOMAIN: projects.domain,
        HOLDFAST_ADDRESS: publicAddress(settings),
        ...transport(projects, places),
        HOLDFAST_LAUNCHER_DESCRIPTOR: "3",
        HOLDFAST_ASK_DESCRIPTOR: "4",
        HOLDFAST_VISIT_DESCRIPTORS: projects.listen.map((_address, index) => 5 + index).join(","),
      },
      sources: ["packages/gateway/src"],
      modules: ["main.ts"],
    })),
    beforeStart: async () => {
      await copyCertificate(projects, places, gateway.gid).catch(async (error: unknown) => {
        // What was taken over before goes on; `followCertificate` tells what is the matter.
        if (!(await exists(places.certificate))) throw error;
      });
    },
    health,
    stopSignal: "SIGTERM",
    killSignal: "SIGKILL",
    stopMs: 10_000,
  };
};

/** An https address without a certificate of ours: a TLS proxy stands in front. */
const transport = (projects: ProjectsSettings, places: Places): Readonly<Record<string, string>> => {
  if (projects.certificate) {
    const { certificate } = places;
    return {
      HOLDFAST_TLS: "own",
      HOLDFAST_TLS_CERTIFICATE: certificate,
      HOLDFAST_TLS_KEY: certificate,
    };
  }
  return { HOLDFAST_TLS: projectsAddress(projects).startsWith("https:") ? "proxy" : "none" };
};
