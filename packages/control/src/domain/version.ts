import { HoldfastError } from "@holdfast/contract";

/** Throws `version_required` or `version_mismatch` unless `ifMatch` is the version that `row`, a `noun`, has now. */
export const refuseStale = (
  noun: "computer" | "service" | "project" | "schedule",
  row: { readonly name: string; readonly version: number },
  ifMatch: string | undefined,
): void => {
  const version = String(row.version);
  if (ifMatch === undefined)
    throw new HoldfastError("version_required", `say which version of the ${noun} this changes`, { version });
  if (ifMatch !== version)
    throw new HoldfastError("version_mismatch", `${row.name} has changed since it was read`, { version });
};
