import { layout } from "./layout.mjs";
import { problem } from "./problem.mjs";

export const errorPage = (status, message) =>
  layout({
    title: `${status} · Feedback board`,
    content: problem({ status, message, back: "Back to the board" }),
  });
