import type { ComputerTables } from "./computers.ts";
import type { PrincipalTables } from "./principals.ts";
import type { ProjectTables } from "./projects.ts";
import type { RecordTables } from "./records.ts";
import type { ScheduleTables } from "./schedules.ts";
import type { SnapshotTables } from "./snapshots.ts";
import type { VisitTables } from "./visits.ts";
import type { WarmTables } from "./warm.ts";

/** The schema as Kysely sees it; `migrations/*.sql` make it. */
export interface Tables
  extends PrincipalTables,
    RecordTables,
    ComputerTables,
    ProjectTables,
    ScheduleTables,
    SnapshotTables,
    VisitTables,
    WarmTables {}
