import type { OperationOutput } from "@holdfast/contract";
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
  version: String(computer.version),
});
