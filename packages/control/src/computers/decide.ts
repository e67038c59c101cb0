import type { CellView } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";

/** What the supervisor said about a computer's cell. `unknown`: it was not asked, so what was recorded last is taken for true. */
export type Seen = CellView | "none" | "unknown";

/** The one thing to do next. `none`: it is as it should be, or nothing can be done until somebody asks for something. */
export type Move =
  | "none"
  | "resize"
  | "wake"
  | "sleep"
  | "stop"
  | "archive"
  | "unarchive"
  | "restore"
  | "destroy"
  | "record_end";

/** The whole of the reconciler's judgement: desired and recorded state on one side, the cell on the other. */
export const decide = (computer: Computer, seen: Seen): Move => {
  if (computer.desiredState === "destroyed") return computer.state === "destroyed" ? "none" : "destroy";
  if (computer.state === "failed") return "none";
  const cell = cellOf(seen);
  if (hadCell(computer) && cell === "none") return "record_end";
  // What it was packed into is written down: the disk may be gone already, so that is finished first, whatever is wanted by now.
  if (computer.state === "stopped" && computer.archive !== null) return "archive";
  if (computer.state === "archived")
    return computer.desiredState === "archived" && !computer.restoring ? "none" : "unarchive";
  if (computer.image !== null && computer.appliedSize !== computer.size) return "resize";
  if (computer.restoring !== null && computer.state !== "creating")
    return isDown(computer, cell) ? "restore" : "stop";
  switch (computer.desiredState) {
    case "awake":
      // Whoever fills it says when it is whole.
      if (computer.filling && computer.cellId !== null)
        return cell === "unknown" || (cell === "running" && isSame(computer, seen)) ? "none" : "wake";
      if (computer.state !== "awake") return "wake";
      return cell === "unknown" || (cell === "running" && isSame(computer, seen)) ? "none" : "wake";
    case "asleep":
      if (computer.state === "asleep") return cell === "running" ? "sleep" : "none";
      return computer.state === "awake" ? "sleep" : "none";
    case "stopped":
      return isDown(computer, cell) ? "none" : "stop";
    case "archived":
      return isDown(computer, cell) ? "archive" : "stop";
  }
};

type CellState = "unknown" | "none" | "running" | "frozen";

const cellOf = (seen: Seen): CellState => {
  if (typeof seen === "string") return seen;
  return seen.state === "exited" ? "none" : seen.state;
};

const hadCell = (computer: Computer): boolean =>
  computer.cellId !== null && (computer.state === "awake" || computer.state === "asleep");

const isDown = (computer: Computer, cell: CellState): boolean =>
  computer.state === "stopped" && cell !== "running" && cell !== "frozen";

const isSame = (computer: Computer, seen: Seen): boolean =>
  typeof seen !== "string" && seen.cell_id === computer.cellId;
