import { lifecycleDefaults, type OperationOutput } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import { timestamp, timestampOrNull } from "../lib/timestamp.ts";

export const computerView = (computer: Computer): OperationOutput<"computer.get"> => ({
  id: computer.id,
  name: computer.name,
  description: computer.description,
  state: computer.state,
  desired_state: computer.desiredState,
  reason: computer.reason,
  size: computer.size,
  environment: computer.environment as Record<string, string>,
  owner: computer.principalId,
  created_at: timestamp(computer.createdAtMs),
  updated_at: timestamp(computer.updatedAtMs),
  awake_since: timestampOrNull(computer.state === "awake" ? computer.awakeSinceMs : null),
  active_at: timestamp(computer.activeAtMs),
  sleep_after_ms: computer.sleepAfterMs ?? lifecycleDefaults[computer.size].sleep_after_ms,
  stop_after_ms: computer.stopAfterMs ?? lifecycleDefaults[computer.size].stop_after_ms,
  archive_after_ms: computer.archiveAfterMs,
  keep_awake: computer.keepAwake,
  keep_hourly: computer.keepHourly,
  keep_daily: computer.keepDaily,
  keep_weekly: computer.keepWeekly,
  expires_at: timestampOrNull(computer.expiresAtMs),
  parent: computer.parentId,
  origin: computer.originSnapshotId,
  version: String(computer.version),
});
