import { HoldfastError, limits } from "@holdfast/contract";
import { lockComputer } from "../store/computers.ts";
import { getServiceById } from "../store/services.ts";
import type { Store } from "../store/transaction.ts";
import type { WebServices } from "../visits/index.ts";
import type { Services } from "../work/index.ts";

/** How waking a project sees the services of its computer. */
export const createWebServices = (parts: {
  readonly store: Store;
  readonly services: Services;
}): WebServices => {
  const { store, services } = parts;
  return {
    look: (computer, serviceId, signal) =>
      computer.desiredState === "awake"
        ? services.get(computer, serviceId, signal)
        : Promise.resolve({ state: "unknown", reason: null, restarts: 0 }),
    isReady: (computer, service, signal) => services.isReady(computer, service, signal),
    bringUp: async (computer, serviceId, decided, signal) => {
      const row = await getServiceById(store.db, serviceId);
      if (!row)
        throw new HoldfastError("not_found", `there is no service ${serviceId}`, { service: serviceId });
      const admitted =
        row.desired_state === "running"
          ? { target: row.id, computer, row, renewed: false }
          : await store.transaction(async (transaction) =>
              services.want(
                transaction,
                (await lockComputer(transaction, computer.id)) ?? computer,
                row.id,
                "running",
              ),
            );
      return services.carryOut(
        admitted,
        { wake: true, until: "ready", restart: false, waitMs: limits.waitMs, decided },
        signal,
      );
    },
    lastLines: async (computer, serviceId, bytes, signal) =>
      (
        await services.logs(
          computer,
          { computer: computer.id, service: serviceId, max_bytes: bytes, wait_ms: 0 },
          signal,
        )
      ).text,
  };
};
