import type { Clock, CrashPoint, Logger, NewId } from "@holdfast/kit";
import type { CellCgroups } from "../cgroups/index.ts";
import type { Images } from "../images/index.ts";
import type { Places } from "../lib/places.ts";
import type { Network } from "../network/index.ts";
import type { Volumes } from "../volumes/index.ts";
import type { Admission } from "./admission.ts";
import type { Bundles } from "./bundle.ts";
import type { CellEvents } from "./events.ts";
import type { CellHelper } from "./helper.ts";
import type { CellRecords } from "./records.ts";

/** What the cells of a host are made with. */
export interface CellParts {
  readonly places: Places;
  readonly images: Images;
  readonly volumes: Volumes;
  readonly cgroups: CellCgroups;
  readonly network: Network;
  readonly bundles: Bundles;
  readonly helper: CellHelper;
  readonly records: CellRecords;
  readonly events: CellEvents;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly agent: string;
  readonly firstIdOf: (slot: number) => number;
  readonly idCount: number;
  readonly controlGid: number;
  readonly gatewayGid: number;
  /** Cells that are being made at the same time; more only make each other slower. */
  readonly parallelStarts: number;
  readonly bootId: string;
  /** What cells are made of now: a warm one that was made of something else is not handed out. */
  readonly current: { readonly image: string; readonly policy: string };
}
