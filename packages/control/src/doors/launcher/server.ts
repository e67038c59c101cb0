import { controlLauncherMethods } from "@holdfast/contract";
import { createRpcServer, type Logger, type RpcServer } from "@holdfast/kit";
import type { HostAuthority } from "../../authority/host.ts";
import type { StageReport } from "../../domain/ports.ts";

/** The launcher's socket: root's alone, which is the whole of the authentication. It answers `health` from the first moment on. */
export const createLauncherDoor = (parts: {
  readonly version: string;
  readonly logger: Logger;
  /** What is missing before requests can be served; undefined when nothing is. */
  readonly notReady: () => string | undefined;
  /** Throws `unavailable` until control has started. */
  readonly host: () => HostAuthority;
  readonly stages: readonly StageReport[];
}): RpcServer =>
  createRpcServer({
    methods: controlLauncherMethods,
    logger: parts.logger,
    handlers: {
      health: () => {
        const missing = parts.notReady();
        return Promise.resolve({
          ready: missing === undefined,
          version: parts.version,
          detail: missing ?? "serving",
        });
      },
      "owner.login_code": async () => {
        const { code, expiresAtMs } = await parts.host().loginCode();
        return { code, expires_at_ms: expiresAtMs };
      },
      "owner.enrolled": async () => ({ name: await parts.host().enrolledOwner() }),
      "assistant.bootstrap": async ({ name }) => ({ key: await parts.host().bootstrapAssistant(name) }),
      stages: () =>
        Promise.resolve({
          stages: parts.stages.map(({ stage, enforced, detail }) => ({
            name: stage,
            filled: enforced,
            detail,
          })),
        }),
    },
  });
