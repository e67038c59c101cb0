import type { AgentFileEntry, OperationOutput } from "@holdfast/contract";
import { timestamp } from "../../lib/timestamp.ts";

export type FileView = OperationOutput<"file.stat">;

export const fileView = (entry: AgentFileEntry): FileView => ({
  path: entry.path,
  kind: entry.kind,
  size_bytes: entry.size_bytes,
  mode: entry.mode.toString(8).padStart(4, "0"),
  uid: entry.uid,
  gid: entry.gid,
  modified_at: timestamp(entry.modified_at_ms),
  target: entry.target,
  version: entry.version,
});
