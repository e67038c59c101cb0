import { type ErrorCode, HoldfastError } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";
import type { Move } from "./decide.ts";

/** What to make of a failed move. */
export type Verdict =
  /** Try again after `delayMs`, as often as needed: it is not the computer's doing. `tell`: those who wait should know now. */
  | { readonly kind: "retry"; readonly delayMs: number; readonly tell: boolean }
  /** The computer is `failed` until somebody asks for something. */
  | { readonly kind: "fail" }
  /** A creation that cannot be completed is undone. */
  | { readonly kind: "undo" }
  /** What was begun (archiving, restoring) is left be; the computer stays what it was. */
  | { readonly kind: "give_up" };

/** Failures of one move before the computer counts as failed. */
const mostAttempts = 5;
const firstDelayMs = 200;
const longestDelayMs = 30_000;
/** The supervisor is back within a second or two mostly, and the first to notice hurries the others. */
const awayDelayMs = 250;
const longestAwayDelayMs = 5_000;
const fullDelayMs = 1_000;

/** How long to wait for a supervisor that did not answer so many times in a row: on a host that stays broken, ever longer. */
export const awayDelay = (times: number): number =>
  Math.min(longestAwayDelayMs, awayDelayMs * 2 ** Math.min(20, Math.max(0, times - 4)));

/** `away`: how many times in a row, with this one, the supervisor did not answer. */
export const judge = (computer: Computer, move: Move, code: ErrorCode, away = 1): Verdict => {
  const attempts = computer.attempts + 1;
  const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(20, attempts - 1));
  if (code === "unavailable") return { kind: "retry", delayMs: awayDelay(away), tell: false };
  // Its agent may be slow to begin, or hostile: not given up, but asked ever less often.
  if (code === "cell_unreachable") return { kind: "retry", delayMs, tell: false };
  if (move === "archive" || move === "restore") {
    const hopeless = code !== "host_full" && code !== "limit_reached";
    if (isSealing(computer, move) || !(code === "computer_failed" || (hopeless && attempts >= mostAttempts)))
      return { kind: "retry", delayMs: Math.max(delayMs, fullDelayMs), tell: code === "host_full" };
    return { kind: "give_up" };
  }
  // Taking things down is never given up: it is what frees the host.
  if (move !== "wake" && move !== "unarchive")
    return { kind: "retry", delayMs, tell: attempts >= mostAttempts };
  if (computer.state === "creating" && (code === "host_full" || code === "computer_failed"))
    return { kind: "undo" };
  if (code === "host_full") return { kind: "retry", delayMs: Math.max(delayMs, fullDelayMs), tell: true };
  if (code === "computer_failed" || attempts >= mostAttempts)
    return { kind: computer.state === "creating" ? "undo" : "fail" };
  return { kind: "retry", delayMs, tell: false };
};

/** Its disk may be in the archive alone by now: there is no way back. */
const isSealing = (computer: Computer, move: Move): boolean =>
  move === "archive" && computer.archive !== null;

/** Cells that end by themselves within this time of their start count in a row. */
const stableMs = 60_000;
const mostCrashes = 5;

/** After a cell ended that should be running: how many did so in a row, and how long to wait before the next start. */
export const judgeEnd = (
  computer: Computer,
  nowMs: number,
): { readonly crashes: number; readonly delayMs: number; readonly failed: boolean } => {
  const livedMs = nowMs - (computer.awakeSinceMs ?? 0);
  const crashes = livedMs < stableMs ? computer.crashes + 1 : 1;
  return {
    crashes,
    delayMs: crashes <= 1 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** crashes),
    failed: crashes > mostCrashes,
  };
};

/** Of what is not ours assistants are told that it happened, and nothing of its words: they may name paths or rows. The cause is logged. */
export const asHoldfastError = (error: unknown): HoldfastError =>
  error instanceof HoldfastError
    ? error
    : new HoldfastError("internal", "an unexpected failure; its cause is in the log", {}, { cause: error });
