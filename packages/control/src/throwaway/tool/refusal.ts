/** What the tool says no to. Control gives it to the caller under the same code. */
export type RefusalCode =
  | "archive_refused"
  | "file_not_found"
  | "too_large"
  | "limit_reached"
  | "disk_full"
  | "damaged";

export class Refusal extends Error {
  readonly code: RefusalCode;
  /** What it is about, for people. */
  readonly entry: string | null;

  constructor(code: RefusalCode, message: string, entry: string | null = null) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.entry = entry;
  }
}

/** What a system call said; undefined for anything else. */
export const errnoOf = (error: unknown): string | undefined => {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
};
