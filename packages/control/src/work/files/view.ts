import type { AgentFileEntry, OperationOutput } from "@holdfast/contract";
import { timestamp } from "../../lib/timestamp.ts";

export type FileView = OperationOutput<"file.stat">;

/** Last moment that RFC 3339 can say; a cell may set any time it likes on its files. */
const latestMs = 253_402_300_799_999;

export const fileView = (entry: AgentFileEntry): FileView => ({
  path: entry.path,
  kind: entry.kind,
  size_bytes: entry.size_bytes,
  mode: entry.mode.toString(8).padStart(4, "0"),
  uid: entry.uid,
  gid: entry.gid,
  modified_at: timestamp(Math.max(0, Math.min(latestMs, Math.floor(entry.modified_at_ms)))),
  target: entry.target,
  version: entry.version,
});
