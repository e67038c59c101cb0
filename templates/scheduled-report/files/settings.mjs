import * as changes from "./sections/changes.mjs";
import * as room from "./sections/room.mjs";
import * as tasks from "./sections/tasks.mjs";

/** What is in a report, in this order. Everything that is yours to change is here and in `sections/`. */
export const settings = {
  title: "Daily report",
  sections: [tasks, changes, room],
  /** Reports that are kept; the feed and the list show the newest. */
  keep: 400,
  /** A section that takes longer is told of as one that failed. */
  sectionMs: 60_000,
};
