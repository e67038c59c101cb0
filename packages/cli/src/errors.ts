import { HoldfastApiError, HoldfastConnectionError } from "@holdfast/sdk";

/** A failure of the CLI's own: what happened, why, and what to do next. */
export class CliError extends Error {
  readonly cause_: string;
  readonly next: string;
  readonly exitCode: number;
  /** What `--json` calls it: the server's code where the server refused. */
  readonly code: string;

  constructor(title: string, cause: string, next: string, exitCode = 1, code = "cli") {
    super(title);
    this.name = "CliError";
    this.cause_ = cause;
    this.next = next;
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** Ends the command with this code and says nothing more: the code is the answer (`exec`). */
export class ExitWith extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** `holdfast exec` passes the command's own code on; its own failures are these, as other runners have it. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  notAllowed: 3,
  unreachable: 4,
  execFailed: 125,
  interrupted: 130,
} as const;

export interface Explained {
  readonly title: string;
  readonly cause: string;
  readonly next: string;
  readonly code: string;
  readonly exitCode: number;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What to tell a person about any failure. */
export const explain = (error: unknown): Explained => {
  if (error instanceof CliError) {
    return {
      title: error.message,
      cause: error.cause_,
      next: error.next,
      code: error.code,
      exitCode: error.exitCode,
      details: {},
    };
  }
  if (error instanceof HoldfastApiError) {
    return {
      title: error.title,
      cause: sentence(error.message),
      next: atTerminal(error.remedy),
      code: error.serverCode,
      exitCode: refusals.has(error.code) ? exitCodes.notAllowed : exitCodes.failed,
      details: error.details,
    };
  }
  if (error instanceof HoldfastConnectionError) {
    return {
      title: "Holdfast did not answer",
      cause: error.message,
      next: "Start it with `holdfast up`, or choose another one with `--context` or `--url`.",
      code: "unreachable",
      exitCode: exitCodes.unreachable,
      details: {},
    };
  }
  return {
    title: "Something went wrong in the command itself",
    cause: error instanceof Error ? error.message : String(error),
    next: "Try again; if it stays, report it with what you typed.",
    code: "cli_internal",
    exitCode: exitCodes.failed,
    details: {},
  };
};

/** Remedies are written for callers of the API; here what they point to stands above. */
const atTerminal = (remedy: string): string =>
  remedy.replaceAll(/\bin `details\.\w+`/g, "above").replaceAll(/`details\.\w+`/g, "what is said above");

const sentence = (text: string): string => {
  const first = opening.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?…:]$/.test(first) || first === "" ? first : `${first}.`;
};

/** Words that begin a sentence. Any other first word may be a name, of a computer or an operation, and stays as it is written. */
const opening =
  /^(?:a|all|an|another|as|at|both|give|it|more|no|nobody|none|nothing|only|over|say|some|that|the|there|this|too|you) /;

/** What the details tell that the cause does not, as `name: value`. */
export const moreOf = ({ cause, details }: Explained): readonly string[] =>
  Object.entries(details)
    .filter(([, value]) => !leaves(value).every((leaf) => cause.includes(leaf)))
    .map(([name, value]) => {
      const words = typeof value === "string" ? value : leaves(value).join(", ");
      return `${name.replaceAll("_", " ")}: ${words}`;
    });

const leaves = (value: unknown): readonly string[] => {
  if (value === null || value === undefined) return [];
  if (typeof value === "object") return Object.values(value).flatMap(leaves);
  return [typeof value === "string" ? value : JSON.stringify(value)];
};

const refusals: ReadonlySet<string> = new Set([
  "unauthenticated",
  "code_refused",
  "forbidden",
  "confirmation_required",
  "ceiling_reached",
  "origin_refused",
]);
