import { HoldfastError } from "@holdfast/contract";
import type { CrashPoint, Logger } from "@holdfast/kit";
import type { Images } from "../images/index.ts";
import type { Places } from "../lib/places.ts";
import type { Btrfs } from "./btrfs.ts";
import type { Counting } from "./counting.ts";
import type { Facts, SnapshotFacts, VolumeFacts } from "./facts.ts";
import type { Growth } from "./growth.ts";
import type { Numbers } from "./numbers.ts";

/** What volumes, their snapshots and their archives are made with. Everything about one computer happens in its turn. */
export interface VolumeParts {
  readonly places: Places;
  readonly pool: string;
  readonly btrfs: Btrfs;
  readonly images: Images;
  readonly facts: Facts<VolumeFacts>;
  readonly snapshotFacts: Facts<SnapshotFacts>;
  readonly turns: <T>(computerId: string, work: () => Promise<T>) => Promise<T>;
  readonly growth: Growth;
  readonly counting: Counting;
  readonly numbers: Numbers;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
}

/** Throws `not_found`. Whatever is archived is known too. */
export const knownVolume = ({ facts }: Pick<VolumeParts, "facts">, computerId: string): VolumeFacts => {
  const volume = facts.get(computerId);
  if (volume?.state === "ready") return volume;
  throw new HoldfastError("not_found", `there is no volume of ${computerId} on this host`);
};

/** Throws `not_found`, and `wrong_state` while it is an archive that counts. */
export const wholeVolume = (parts: Pick<VolumeParts, "facts">, computerId: string): VolumeFacts => {
  const volume = knownVolume(parts, computerId);
  if (!archiveCounts(volume)) return volume;
  throw new HoldfastError("wrong_state", `${computerId} is an archive`, { state: "archived" });
};

/** Whether what the computer has on its disk is its archive. */
export const archiveCounts = ({ archive }: VolumeFacts): boolean =>
  archive?.state === "sealed" || archive?.state === "unpacking";

/** The others took the last of what they may hold together, or of the pool, since it was looked at. */
export const isFull = (error: unknown): boolean =>
  error instanceof Error && /quota exceeded|no space left|EDQUOT|ENOSPC|error -?122\b/i.test(error.message);

export const fullPool = (cause: unknown): HoldfastError =>
  new HoldfastError("host_full", "the pool has no room for it", {}, { cause });
