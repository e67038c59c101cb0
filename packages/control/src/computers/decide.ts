import type { CellView } from "@holdfast/contract";
import type { Computer } from "../domain/computer.ts";

/** What the supervisor said about a computer's cell. `unknown`: it was not asked, so what was recorded last is taken for true. */
export type Seen = CellView | "none" | "unknown";

/** The one thing to do next. `none`: it is as it should be, or nothing can be done until somebody asks for something. */
export type Move = "none" | "resize" | "wake" | "sleep" | "stop" | "destroy" | "record_end";

/** The whole of the reconciler's judgement: desired and recorded state on one side, the cell on the other. */
export const decide = (computer: Computer, seen: Seen): Move => {
  if (computer.desiredState === "destroyed") return computer.state === "destroyed" ? "none" : "destroy";
  if (computer.state === "failed") return "none";
  const cell = cellOf(seen);
  if (hadCell(computer) && cell === "none") return "record_end";
  if (computer.image !== null && computer.appliedSize !== computer.size) return "resize";
  switch (computer.desiredState) {
    case "awake":
      if (computer.state !== "awake") return "wake";
      return cell === "unknown" || (cell === "running" && isSame(computer, seen)) ? "none" : "wake";
    case "asleep":
      if (computer.state === "asleep") return cell === "running" ? "sleep" : "none";
      return computer.state === "awake" ? "sleep" : "none";
    case "stopped":
      if (computer.state !== "stopped") return "stop";
      return cell === "running" || cell === "frozen" ? "stop" : "none";
    case "archived":
      return computer.state === "stopped" || computer.state === "archived" ? "none" : "stop";
  }
};

const cellOf = (seen: Seen): "unknown" | "none" | "running" | "frozen" => {
  if (typeof seen === "string") return seen;
  return seen.state === "exited" ? "none" : seen.state;
};

const hadCell = (computer: Computer): boolean =>
  computer.cellId !== null && (computer.state === "awake" || computer.state === "asleep");

const isSame = (computer: Computer, seen: Seen): boolean =>
  typeof seen !== "string" && seen.cell_id === computer.cellId;
