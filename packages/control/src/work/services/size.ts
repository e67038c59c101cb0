import { framePayloadLimitBytes, HoldfastError } from "@holdfast/contract";
import type { Computer } from "../../domain/computer.ts";
import type { ServiceRow } from "../../store/services.ts";
import { specsOf } from "./definition.ts";

/** What stands around the set in the call that carries it. */
const callBytes = 1024;
export const servicesBytes = framePayloadLimitBytes - callBytes;

/** A computer's agent is sent all of its services at once, in one frame. */
export const fitTogether = (rows: readonly ServiceRow[]): boolean =>
  Buffer.byteLength(JSON.stringify(specsOf(rows))) <= servicesBytes;

/** Throws `limit_reached` when the set could never be sent: the computer would fail at each start from then on. */
export const refuseOversized = (computer: Pick<Computer, "name">, rows: readonly ServiceRow[]): void => {
  if (fitTogether(rows)) return;
  throw new HoldfastError(
    "limit_reached",
    `the services of ${computer.name}, each with the computer's environment and its own, are over ${servicesBytes} bytes together: put large values into files`,
    { limit: servicesBytes, counts: "bytes of services with their environments" },
  );
};
