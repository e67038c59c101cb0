// Imports of every kind, for test/repo/imports.test.ts: each must be seen, and refused where it may not stand.
import "@holdfast/control";
import type { Clock } from "@holdfast/kit";
export { sql } from "kysely";
export type Other = import("@holdfast/launcher").InstanceSettings; // typescript/consistent-type-imports

declare const require: (name: string) => unknown;

export const late = async (_clock: Clock): Promise<unknown> => import("@holdfast/supervisor");
export const old = (): unknown => require("pg");
export const doors = async (place: string): Promise<unknown[]> => [
  await import(place),
  // @ts-expect-error -- judged as if it stood elsewhere
  await import("../doors/http/server.ts"),
  // @ts-expect-error -- judged as if it stood elsewhere
  await import("../../../cli/src/main.ts"),
];
