/**
 * The one table of error codes. REST (`problem+json`), MCP (`isError` results), the CLI and the reference page all read it; a test
 * holds them together. `message` says what happened; `remedy` says what to do next; details are typed per code where there are any.
 */
export interface ErrorDefinition {
  readonly status: number;
  /** Whose doing it is: the caller's, ours, or the host's. */
  readonly fault: "caller" | "holdfast" | "host";
  /** Whether the same request may succeed later without being changed. */
  readonly retryable: boolean;
  readonly title: string;
  readonly remedy: string;
}

const define = <const T extends Record<string, ErrorDefinition>>(
  table: T,
): Readonly<Record<keyof T, ErrorDefinition>> => table;

export const errorTable = define({
  invalid_input: {
    status: 400,
    fault: "caller",
    retryable: false,
    title: "The input does not fit the operation",
    remedy: "Correct the fields named in `details.issues` and send the request again.",
  },
  malformed_request: {
    status: 400,
    fault: "caller",
    retryable: false,
    title: "The request is not well-formed HTTP or JSON",
    remedy: "Send one Host header, one way of framing the body, and valid UTF-8 JSON.",
  },
  unauthenticated: {
    status: 401,
    fault: "caller",
    retryable: false,
    title: "No valid key or session came with the request",
    remedy: "Send `Authorization: Bearer <key>`. Keys are made by an owner: `holdfast keys create`.",
  },
  code_refused: {
    status: 403,
    fault: "caller",
    retryable: false,
    title: "The one-time code does not fit or has been used",
    remedy: "`holdfast owner login`, as root on the host, prints a new one, which works once.",
  },
  forbidden: {
    status: 403,
    fault: "caller",
    retryable: false,
    title: "This principal may not do this",
    remedy: "Ask an owner to do it, or to raise the ceilings of the key.",
  },
  origin_refused: {
    status: 403,
    fault: "caller",
    retryable: false,
    title: "The Origin or Host of the request is not on the allow-list",
    remedy:
      "Use the address that `holdfast status` prints, or add the host with `holdfast up --allow-host <name>`.",
  },
  confirmation_required: {
    status: 403,
    fault: "caller",
    retryable: false,
    title: "This needs the owner's passphrase again",
    remedy: "Confirm the session (`holdfast owners confirm`) and repeat the request within five minutes.",
  },
  ceiling_reached: {
    status: 403,
    fault: "caller",
    retryable: false,
    title: "A ceiling of this key is reached",
    remedy:
      "Free what the ceiling counts (for example destroy a computer you no longer need), or ask an owner to raise it.",
  },
  not_found: {
    status: 404,
    fault: "caller",
    retryable: false,
    title: "There is no such thing here",
    remedy: "List what exists and use an id or name from the list.",
  },
  method_not_allowed: {
    status: 405,
    fault: "caller",
    retryable: false,
    title: "This path does not take that method",
    remedy: "See /openapi.json for the methods of each path.",
  },
  name_taken: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "The name is in use",
    remedy: "Choose another name, or use the existing one.",
  },
  wrong_state: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "It is not in a state that allows this",
    remedy: "See `details.state` and do first what leads out of it.",
  },
  operation_running: {
    status: 409,
    fault: "caller",
    retryable: true,
    title: "The first request with this idempotency key is still running",
    remedy: "Wait and send the same request again; it answers with the result of the first.",
  },
  idempotency_mismatch: {
    status: 422,
    fault: "caller",
    retryable: false,
    title: "This idempotency key was used with another request",
    remedy: "Use a new key for a new request.",
  },
  version_mismatch: {
    status: 412,
    fault: "caller",
    retryable: false,
    title: "It has changed since you read it",
    remedy: "Read it again, apply your change to what is there now, and send the new version.",
  },
  version_required: {
    status: 428,
    fault: "caller",
    retryable: false,
    title: "This update needs the version it is based on",
    remedy: "Send the version you read in `If-Match` (or `if_match`).",
  },
  too_large: {
    status: 413,
    fault: "caller",
    retryable: false,
    title: "It is larger than the limit",
    remedy: "See `details.limit`; send or ask for less, or use the streaming form (upload, archive import).",
  },
  limit_reached: {
    status: 429,
    fault: "caller",
    retryable: true,
    title: "A limit is reached",
    remedy: "See `details.limit`; free some of what it counts, or try again later.",
  },
  rate_limited: {
    status: 429,
    fault: "caller",
    retryable: true,
    title: "Too many requests",
    remedy: "Wait for the time in Retry-After.",
  },
  file_not_found: {
    status: 404,
    fault: "caller",
    retryable: false,
    title: "There is no file or directory at this path",
    remedy: "List the parent directory; check spelling and capitals.",
  },
  file_exists: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "Something is at this path already",
    remedy: "Choose another path, or say that it may be replaced.",
  },
  file_kind: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "What is at this path is of another kind",
    remedy: "See `details.kind`: file operations need a regular file, listings a directory.",
  },
  directory_not_empty: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "The directory is not empty",
    remedy: "Say `recursive` to delete all of it.",
  },
  file_permission: {
    status: 403,
    fault: "caller",
    retryable: false,
    title: "The computer's own file permissions refuse this",
    remedy: "Change the permissions inside the computer, or use another path.",
  },
  match_failed: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "The text to replace was not found exactly once",
    remedy: "Read the file again and give enough surrounding text to be unique, or say `all`.",
  },
  archive_refused: {
    status: 422,
    fault: "caller",
    retryable: false,
    title: "The archive holds an entry that is not allowed",
    remedy:
      "See `details.entry`: no absolute paths, no `..`, no links out, no devices, FIFOs or setuid files.",
  },
  git_failed: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "git in the computer refused this",
    remedy: "See `details.output`; run git in the project's folder to mend its repository, then try again.",
  },
  disk_full: {
    status: 507,
    fault: "caller",
    retryable: false,
    title: "The computer's disk is full",
    remedy: "Delete files (deleting always works), or update the computer to a larger size.",
  },
  process_limit: {
    status: 409,
    fault: "caller",
    retryable: true,
    title: "The computer cannot start more processes",
    remedy: "End processes (`process_signal` with `kill`), stop services, or stop the computer.",
  },
  process_ended: {
    status: 409,
    fault: "caller",
    retryable: false,
    title: "The process has ended",
    remedy: "Read its output and exit status; start a new one.",
  },
  spawn_failed: {
    status: 422,
    fault: "caller",
    retryable: false,
    title: "The command could not be started",
    remedy: "See `details.reason`: check the program's name, its permissions and the working directory.",
  },
  computer_failed: {
    status: 409,
    fault: "host",
    retryable: false,
    title: "The computer has failed",
    remedy:
      "See `details.reason`; stop it and wake it again, its disk is kept. If it fails again, ask the owner to run `holdfast doctor`.",
  },
  computer_starting: {
    status: 503,
    fault: "holdfast",
    retryable: true,
    title: "The computer is starting",
    remedy: "Try again in a second.",
  },
  cell_unreachable: {
    status: 503,
    fault: "holdfast",
    retryable: true,
    title: "The computer does not answer",
    remedy: "Try again; if it lasts, stop the computer and wake it.",
  },
  host_full: {
    status: 503,
    fault: "host",
    retryable: true,
    title: "The host has no room for this now",
    remedy:
      "Put computers to sleep or stop them, or try again later. The owner sees what is short with `holdfast doctor`.",
  },
  unavailable: {
    status: 503,
    fault: "holdfast",
    retryable: true,
    title: "A part of Holdfast is not answering",
    remedy: "Try again in a few seconds; the owner sees which part with `holdfast status`.",
  },
  timed_out: {
    status: 504,
    fault: "holdfast",
    retryable: true,
    title: "It took longer than its limit",
    remedy: "Look at the state of the target before trying again: it may have happened.",
  },
  internal: {
    status: 500,
    fault: "holdfast",
    retryable: true,
    title: "Something went wrong in Holdfast",
    remedy: "Try again. Give the owner `details.error_id`: the cause is in the log under it.",
  },
});

export type ErrorCode = keyof typeof errorTable;
export const errorCodes = Object.keys(errorTable) as readonly ErrorCode[];

export type ErrorDetails = Readonly<Record<string, unknown>>;

/** What code throws to refuse or fail. `message` says what happened in this case; title and remedy come from the table. */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = "HoldfastError";
    this.code = code;
    this.details = details;
  }

  get definition(): ErrorDefinition {
    return errorTable[this.code];
  }
}
