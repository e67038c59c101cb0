import { type AgentErrorCode, agentError, type AgentMethod, type ErrorCode } from "@holdfast/contract";
import { AgentFault } from "../domain/agents.ts";
import { parseJson } from "./json.ts";

/** What an ERROR frame means to a caller of ours. Text from the agent is hostile: clipped by the schema, control characters removed. */
export const readFault = (method: AgentMethod, payload: Buffer): AgentFault => {
  const error = parseJson(agentError, payload, "ERROR");
  const code = codeOf(error.code, method);
  const said = clean(error.message);
  const details: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(error.details ?? {}))
    details[clean(key)] = typeof value === "string" ? clean(value) : value;
  const kind = kinds[error.code];
  if (kind) details["kind"] ??= kind;
  return new AgentFault(error.code, code, hints[error.code] ?? said, { ...details, agent: said });
};

const codeOf = (code: AgentErrorCode, method: AgentMethod): ErrorCode => {
  const onFiles = method.startsWith("files.") || method.startsWith("tar.");
  switch (code) {
    case "not_found":
      return onFiles ? "file_not_found" : "not_found";
    case "already_exists":
      return onFiles ? "file_exists" : "wrong_state";
    case "permission_denied":
      return onFiles ? "file_permission" : "spawn_failed";
    case "not_a_directory":
    case "is_a_directory":
    case "not_regular_file":
      return "file_kind";
    case "not_empty":
      return "directory_not_empty";
    case "no_space":
      return "disk_full";
    case "refused_entry":
      return "archive_refused";
    case "too_large":
    case "process_limit":
    case "process_ended":
    case "spawn_failed":
    case "match_failed":
    case "version_mismatch":
    case "limit_reached":
    case "timed_out":
      return code;
    case "no_pty":
    case "unknown_method":
      return "wrong_state";
    case "invalid_argument":
      return "invalid_input";
    case "shutting_down":
    case "connection_refused":
      return "cell_unreachable";
    case "stale_revision":
      return "unavailable";
    case "invalid_frame":
    case "unsupported_protocol":
    case "internal":
      return "internal";
  }
};

const kinds: Partial<Record<AgentErrorCode, string>> = {
  not_a_directory: "not a directory",
  is_a_directory: "directory",
  not_regular_file: "not a regular file",
};

/** Where our words help more than the agent's. */
const hints: Partial<Record<AgentErrorCode, string>> = {
  no_pty: "the process does not run on a terminal; start it with `terminal` to resize or attach",
  unknown_method:
    "this computer was started by an older Holdfast, which cannot do this; stop it and wake it again",
  shutting_down: "the computer is stopping; wake it and try again",
  stale_revision: "a newer set of services has been sent to the computer already",
  no_space: "the computer's disk is full",
};

const clean = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, " ");
